// One process of a job: how it starts, its pipes and its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/descriptor.h"
#include "cli/signal_queue.h"

namespace troika::cli {

using Clock = std::chrono::steady_clock;

enum class Stream { output, errors };
inline constexpr Stream kStreams[] = {Stream::output, Stream::errors};

// Thrown if the system cannot execute the program.
class StartFailure : public Failure {
 public:
  using Failure::Failure;
};

// A program with its arguments. Everything is prepared, so that a forked process only has to call
// execve.
class Program {
 public:
  explicit Program(std::vector<std::string> words);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& name() const { return words_.front(); }

  // Replaces this process, or returns errno. Searches PATH as a shell does, which also runs a
  // script without an interpreter's name. Async-signal-safe.
  int execute(char* const* environment);

 private:
  std::vector<std::string> words_, paths_;
  std::vector<char*> arguments_, shell_arguments_;
};

// A process that leads a process group. The group may outlive the process.
class ChildProcess {
 public:
  // The process gets a pipe for each stream, and the standard input of this process if
  // `reads_input`. It dies with this process. Throws StartFailure.
  ChildProcess(Program& program, const std::vector<std::string>& environment, const SignalQueue& signals,
               bool reads_input);
  // Kills what is left of the group.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const { return id_; }

  void send(int signal);  // to the group
  void terminate();       // by SIGTERM, which a suspended process takes too

  // Whether the group has processes. This process must be a subreaper, so that they are its
  // children when their parents have ended.
  bool has_group();

  // Notes the status that waitpid has returned.
  void note_end(int wait_status);
  bool has_ended() const { return has_ended_; }
  bool is_ending() const;  // the system ends it, but it cannot be waited for yet
  bool failed() const { return has_ended_ && wait_status_ != 0; }
  int exit_status() const;    // as a shell reports it
  int ending_signal() const;  // 0: none
  double seconds() const;     // from start to end

  bool is_open(Stream stream) const { return pipe(stream).is_open(); }
  int descriptor(Stream stream) const { return pipe(stream).get(); }
  // Returns the bytes that are there, of at most `size`. Closes the pipe at its end.
  std::string_view read(Stream stream, char* buffer, size_t size);
  void close(Stream stream) { pipe(stream).close(); }

 private:
  Descriptor& pipe(Stream stream) { return pipes_[static_cast<int>(stream)]; }
  const Descriptor& pipe(Stream stream) const { return pipes_[static_cast<int>(stream)]; }

  pid_t id_ = -1;
  Descriptor pipes_[2];
  bool has_ended_ = false, has_group_ = true;
  int wait_status_ = 0;
  Clock::time_point began_, ended_;
};

}  // namespace troika::cli
