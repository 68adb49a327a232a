// The outputs of a job's processes, on the launcher's outputs and in log files.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cli/child_process.h"
#include "cli/descriptor.h"
#include "cli/launch_options.h"
#include "cli/line_output.h"

namespace troika::cli {

class JobOutput {
 public:
  // Creates the log files. Throws Failure.
  explicit JobOutput(const LaunchOptions& options);

  void begin_attempt(int attempt);

  void add(int process, Stream stream, std::string_view bytes);
  void finish(int process, Stream stream);  // writes a line that has not ended

  void print(const std::string& line);  // a line of the launcher's own, to stderr

  // The last line with a visible character that the process wrote to stderr in this attempt; empty:
  // none.
  const std::string& last_line(int process) const { return processes_[static_cast<size_t>(process)].last_line; }

  // The output of a stream. Both streams may have the same one.
  LineOutput& of(Stream stream) { return stream == Stream::errors && !is_same_file_ ? errors_ : output_; }

 private:
  struct ProcessOutput {
    std::string prefix, last_line, log_path;
    LineCutter cutters[2];
    Descriptor log_file;
    LineOutput log{-1};
    bool has_log = false;
  };

  void add_part(int process, Stream stream, const LinePart& part);
  void write_log(ProcessOutput& process);

  bool is_same_file_;
  LineOutput output_, errors_;
  std::deque<ProcessOutput> processes_;
};

}  // namespace troika::cli
