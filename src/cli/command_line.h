// The command line: commands and their options. The one wrapper of CLI11, which takes long to
// compile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/client.h"

namespace CLI {
class App;
}

namespace troika::cli {

class CommandLine;

// The work of a command. Returns the exit status.
using Action = std::function<int()>;

// One command, such as `troika train`. Options fill variables, whose values are the defaults that
// the help shows. For a NaN the help shows no default, and the option refuses NaN.
class Command {
 public:
  Command(CLI::App* app, CommandLine* line) : app_(app), line_(line) {}

  // `unit` is the name of the value in the help, such as "FILE"; NULL: the type's name. For string,
  // int, int64_t, uint64_t and double.
  template <typename T>
  void option(const char* names, T& value, const std::string& help, const char* unit = nullptr) const;
  // Bytes, as a number or with a unit, such as 300MB. For int64_t.
  void bytes(const char* names, int64_t& value, const std::string& help) const;
  void flag(const char* names, bool& value, const std::string& help) const;
  void argument(const char* name, std::string& value, const std::string& help, const char* unit) const;  // required
  void optional_argument(const char* name, std::string& value, const std::string& help, const char* unit) const;
  // Any number of arguments, at least 1.
  void arguments(const char* name, std::vector<std::string>& values, const std::string& help, const char* unit) const;

  // Takes the first argument that is no option, and all arguments after it, whatever they are. A
  // `--` before it is left out.
  void rest(const char* name, std::vector<std::string>& words, const std::string& help, const char* unit) const;

  void require(const char* option) const;
  void exclude(const char* option, const char* other) const;  // not both
  void need(const char* option, const char* other) const;     // not without the other
  void footer(const std::string& text) const;
  void action(Action action) const;

  bool was_given(const char* option) const;
  const std::vector<std::string>& words() const;  // of the whole command line, after the program's name

 private:
  CLI::App* app_;
  CommandLine* line_;
};

// Throws Failure for a value that an option does not allow: "--steps is 0; give at least 1".
template <typename T>
[[noreturn]] void refuse_value(const std::string& option, const T& value, const std::string& allowed) {
  std::ostringstream line;
  line << option << " is ";
  if constexpr (std::is_convertible_v<T, std::string>)
    line << "'" << value << "'";
  else
    line << value;
  throw Failure(line.str() + "; give " + allowed);
}

// Reads "80GB", "80GiB", "512MB" or a number of bytes, which may be below 0. Throws Failure for
// anything else.
int64_t parse_bytes(const std::string& option, const std::string& text);

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, std::function<std::string()> version);
  ~CommandLine();

  Command add_command(const char* name, const char* description);

  // Reads the command line, which begins with the program. Runs its command, or shows help or the
  // version. Returns the exit status. Throws Failure if the command line is wrong, and the errors
  // of the command.
  int run(const std::vector<std::string>& words);

 private:
  friend class Command;

  // Returns what is wrong with a command line that CLI11 refuses: `error` is its message.
  std::string explain(const std::string& error) const;

  std::unique_ptr<CLI::App> app_;
  Action chosen_;
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>*> rests_;  // of the commands that take all arguments
};

}  // namespace troika::cli
