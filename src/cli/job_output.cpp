// Adds prefixes to lines, and copies lines to log files.
#include "cli/job_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/client.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr size_t kLongestLastLine = 500;

bool are_same_file(int a, int b) {
  struct stat of_a {
  }, of_b{};
  return ::fstat(a, &of_a) == 0 && ::fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

// Returns what a terminal shows of a line in the end: the text after the last '\r', without spaces
// around it.
std::string_view visible(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\r\v\f";
  const size_t last = line.find_last_not_of(kSpaces);
  if (last == std::string_view::npos) return {};
  line = line.substr(0, last + 1);
  const size_t progress = line.rfind('\r');
  if (progress != std::string_view::npos) line.remove_prefix(progress + 1);
  line.remove_prefix(line.find_first_not_of(kSpaces));
  return line.substr(0, kLongestLastLine);
}

std::string attempt_line(int attempt) { return "== attempt " + std::to_string(attempt + 1); }

}  // namespace

JobOutput::JobOutput(const LaunchOptions& options)
    : is_same_file_(are_same_file(STDOUT_FILENO, STDERR_FILENO)),
      output_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      processes_(static_cast<size_t>(options.processes)) {
  if (!options.log_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.log_folder, error);
    if (error) throw Failure("cannot make the folder '" + options.log_folder + "': " + error.message());
  }
  for (int i = 0; i < options.processes; ++i) {
    ProcessOutput& process = processes_[static_cast<size_t>(i)];
    if (options.size() > 1) process.prefix = formatted("[%d] ", options.rank(i));
    if (options.log_folder.empty()) continue;
    process.log_path = (std::filesystem::path(options.log_folder) / formatted("rank-%d.log", options.rank(i))).string();
    const int file = ::open(process.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) throw Failure("cannot write '" + process.log_path + "': " + std::strerror(errno));
    process.log_file = Descriptor(file);
    process.log = LineOutput(file);
    process.has_log = true;
  }
}

void JobOutput::begin_attempt(int attempt) {
  for (ProcessOutput& process : processes_) {
    process.last_line.clear();
    struct stat state {};
    if (!process.has_log) continue;
    if (attempt == 0 && ::fstat(process.log_file.get(), &state) == 0 && state.st_size == 0) continue;
    process.log.add(LineOutput::kOwnSource, "", {attempt_line(attempt), true, true});
    write_log(process);
  }
}

void JobOutput::add(int process, Stream stream, std::string_view bytes) {
  processes_[static_cast<size_t>(process)].cutters[static_cast<int>(stream)].add(
      bytes, [&](const LinePart& part) { add_part(process, stream, part); });
  write_log(processes_[static_cast<size_t>(process)]);
}

void JobOutput::finish(int process, Stream stream) {
  ProcessOutput& output = processes_[static_cast<size_t>(process)];
  const bool ends_line = !output.prefix.empty();  // without prefixes, the bytes stay as they are
  output.cutters[static_cast<int>(stream)].finish([&](const LinePart& part) {
    add_part(process, stream, {part.text, part.begins_line, ends_line});
  });
  write_log(output);
}

void JobOutput::add_part(int process, Stream stream, const LinePart& part) {
  ProcessOutput& output = processes_[static_cast<size_t>(process)];
  const int source = 2 * process + static_cast<int>(stream);
  of(stream).add(source, output.prefix, part);
  if (output.has_log) output.log.add(source, "", part);
  if (stream == Stream::errors && part.begins_line && !visible(part.text).empty())
    output.last_line = visible(part.text);
}

void JobOutput::write_log(ProcessOutput& process) {
  if (!process.has_log) return;
  process.log.write();
  if (process.log.error() == 0) return;
  process.has_log = false;
  print("troika run: cannot write '" + process.log_path + "': " + std::strerror(process.log.error()) +
        "; the job goes on without this log");
}

void JobOutput::print(const std::string& line) {
  of(Stream::errors).add(LineOutput::kOwnSource, "", {line, true, true});
}

}  // namespace troika::cli
