// Reads the command line with CLI11.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "cli/closest.h"

namespace troika::cli {
namespace {

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// Returns the long names of all options: "--batch".
std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; }))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Returns the call whose help fits the command line: "troika train --help".
std::string help_call(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return app.get_name() + (commands.empty() ? "" : " " + commands.front()->get_name()) + " --help";
}

// The description of the values that an option of this type takes.
template <typename T>
std::string allowed() {
  if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else
    return (std::is_signed_v<T> ? "a whole number of at most " : "a whole number from 0 to ") +
           std::to_string(std::numeric_limits<T>::max());
}

// Returns the number of arguments before the rest: up to `--`, or up to the first argument that is
// neither an option nor an option's value.
int count_before_rest(const CLI::App& command, int argc, const char* const* argv) {
  int i = 2;
  while (i < argc && argv[i][0] == '-' && std::string_view(argv[i]) != "--") {
    const std::string word = argv[i];
    const CLI::Option* const option = command.get_option_no_throw(word);
    i += option && option->get_items_expected_max() > 0 ? 2 : 1;  // `--name value`, else `--name=value` or a flag
  }
  return std::min(i, argc);
}

}  // namespace

template <typename T>
void Command::option(const char* names, T& value, const std::string& help, const char* unit) const {
  CLI::Option* option = app_->add_option(names, value, help);
  bool has_default = true;
  if constexpr (std::is_floating_point_v<T>) has_default = !std::isnan(value);
  if (has_default) option->capture_default_str();
  if constexpr (std::is_arithmetic_v<T>)
    option->check([name = option->get_name(), has_default](const std::string& given) {
      T read{};
      const bool wraps = std::is_unsigned_v<T> && given.starts_with('-');  // CLI11 would accept it
      if (wraps || !CLI::detail::lexical_cast(given, read)) refuse_value(name, given, allowed<T>());
      if constexpr (std::is_floating_point_v<T>)
        if (!has_default && std::isnan(read)) refuse_value(name, given, allowed<T>());
      return std::string();
    });
  if (unit) option->type_name(unit);
}

template void Command::option(const char*, std::string&, const std::string&, const char*) const;
template void Command::option(const char*, int&, const std::string&, const char*) const;
template void Command::option(const char*, int64_t&, const std::string&, const char*) const;
template void Command::option(const char*, uint64_t&, const std::string&, const char*) const;
template void Command::option(const char*, double&, const std::string&, const char*) const;

void Command::bytes(const char* names, int64_t& value, const std::string& help) const {
  const std::string option = names;
  app_->add_option_function<std::string>(
          names, [option, &value](const std::string& text) { value = parse_bytes(option, text); }, help)
      ->default_str(std::to_string(value))
      ->type_name("BYTES");
}

void Command::flag(const char* names, bool& value, const std::string& help) const {
  app_->add_flag(names, value, help);
}

void Command::argument(const char* name, std::string& value, const std::string& help, const char* unit) const {
  app_->add_option(name, value, help)->required()->type_name(unit);
}

void Command::optional_argument(const char* name, std::string& value, const std::string& help, const char* unit) const {
  app_->add_option(name, value, help)->type_name(unit);
}

void Command::arguments(const char* name, std::vector<std::string>& values, const std::string& help,
                        const char* unit) const {
  app_->add_option(name, values, help)->required()->type_name(unit);
}

void Command::rest(const char* name, std::vector<std::string>& words, const std::string& help, const char* unit) const {
  app_->add_option(name, words, help)->type_name(unit);  // for the help: CLI11 never sees the words
  line_->rests_[app_->get_name()] = &words;
}

void Command::require(const char* option) const { app_->get_option(option)->required(); }

void Command::exclude(const char* option, const char* other) const {
  app_->get_option(option)->excludes(app_->get_option(other));
}

void Command::need(const char* option, const char* other) const {
  app_->get_option(option)->needs(app_->get_option(other));
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::action(Action action) const {
  app_->callback([line = line_, action = std::move(action)] { line->chosen_ = action; });
}

const std::vector<std::string>& Command::words() const { return line_->words_; }

bool Command::was_given(const char* option) const { return app_->count(option) > 0; }

int64_t parse_bytes(const std::string& option, const std::string& text) {
  constexpr struct {
    const char* name;
    double bytes;
  } kUnits[] = {{"", 1},      {"B", 1},      {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
                {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1024.0 * (1 << 30)}};
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  const auto exact = std::from_chars(text.data(), end, whole);
  if (exact.ec == std::errc() && exact.ptr == end) return whole;
  double number = 0;
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc())
    for (const auto& unit : kUnits)
      if (std::string(read.ptr, end) == unit.name && number * unit.bytes >= 1 && number * unit.bytes < 1e18)
        return static_cast<int64_t>(number * unit.bytes);
  refuse_value(option, text, "bytes, such as 80GB, 80GiB or 512MB");
}

CommandLine::CommandLine(const std::string& name, const std::string& description, std::function<std::string()> version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("-v,--version", std::move(version));
  app_->require_subcommand(1);
  app_->allow_windows_style_options(false);  // /file is a path on every system
  app_->footer("Each command explains its options: " + name + " train --help");
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const char* name, const char* description) {
  return Command(app_->add_subcommand(name, description), this);
}

std::string CommandLine::explain(const std::string& error) const {
  const auto chosen = app_->get_subcommands();
  if (chosen.empty()) return error;
  const CLI::App& command = *chosen.front();
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return o->get_items_expected_max() == 1; }))
    if (option->count() > 1)
      return option->get_name() + " is given " + std::to_string(option->count()) + " times; give it once";
  const std::vector<std::string> unknown = command.remaining();
  const auto option =
      std::find_if(unknown.begin(), unknown.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option == unknown.end())
    return unknown.empty() ? error : command.get_name() + " takes no argument '" + unknown.front() + "'";
  const std::string name = option->substr(0, option->find('='));
  return command.get_name() + " has no option '" + name + "'" + did_you_mean(name, names_of_options(command));
}

int CommandLine::run(const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  if (words.size() > 1 && words[1] == "help") {  // help [COMMAND] is [COMMAND] --help
    words.erase(words.begin() + 1);
    words.resize(std::min<size_t>(words.size(), 2));
    words.emplace_back("--help");
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const char* const* const argv = pointers.data();
  const int argc = static_cast<int>(words.size());
  const std::string see_help = "see '" + app_->get_name() + " --help'";
  if (argc < 2) throw Failure("no command; " + see_help);
  words_.assign(words.begin() + 1, words.end());
  const std::vector<std::string> commands = names_of_commands(*app_);
  if (argv[1][0] != '-' && std::find(commands.begin(), commands.end(), argv[1]) == commands.end())
    throw Failure("there is no command '" + words[1] + "'" + did_you_mean(words[1], commands) + "; " + see_help);
  int own = argc;  // arguments that CLI11 reads
  if (const auto rest = rests_.find(argv[1]); rest != rests_.end()) {
    own = count_before_rest(*app_->get_subcommand(argv[1]), argc, argv);
    const bool has_mark = own < argc && std::string_view(argv[own]) == "--";
    rest->second->assign(argv + own + (has_mark ? 1 : 0), argv + argc);
  }
  try {
    app_->parse(own, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app_->exit(e);  // --help, --version
    throw Failure(explain(e.what()) + "; see '" + help_call(*app_) + "'");
  }
  return chosen_();
}

}  // namespace troika::cli
