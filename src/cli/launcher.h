// Starts the processes of a job, watches them, and ends them all if one fails.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/child_process.h"
#include "cli/job_environment.h"
#include "cli/job_output.h"
#include "cli/launch_options.h"
#include "cli/launch_status.h"
#include "cli/signal_queue.h"

namespace troika::cli {

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options);

  // Runs the job with its restarts, and returns the exit status. No process of the job's process
  // groups runs afterwards.
  int run();

 private:
  // A process that was killed, because it did not end in time.
  struct Late {
    int process;
    double seconds;  // that it had
  };

  struct Attempt {
    std::vector<int> failures;   // processes that failed before they were told to end, in order of time
    std::vector<int> passed_on;  // signals, except those that stop the job
    std::vector<Late> late;
    int first_failed = -1;   // the first process that failed for any reason
    bool were_told = false;  // to end
    double patience = 0;     // seconds until `kill_at`
    std::optional<Clock::time_point> decide_at, kill_at, stop_reading_at;
  };

  int run_attempts();
  void start(int attempt);
  void watch();  // until all processes have ended, and their outputs are read
  void report();
  bool may_restart(int attempt);
  int exit_status() const;

  // Waits for an event: a signal, bytes in a pipe, a reader that takes more, or a deadline.
  void wait();
  void read_pipe(int process, Stream stream);
  void read_rest();  // of the pipes
  void write_outputs();
  void write_rest();  // of the outputs
  void take_signals();
  void pass_on(int signal);
  void note_end(pid_t id, int wait_status);
  void decide();  // whether the first failures are known, and then ends all processes
  void kill_all();
  void kill_within(double seconds);
  void keep_deadlines();
  bool is_over();
  bool all_ended() const;
  bool has_groups();

  const LaunchOptions& options_;
  JobEnvironment environment_;
  Program program_;
  SignalQueue signals_;
  JobOutput output_;
  LaunchStatus status_;
  std::vector<char> buffer_;
  std::vector<std::unique_ptr<ChildProcess>> processes_;
  Attempt attempt_;
  int stop_signal_ = 0;  // SIGINT or SIGTERM
};

}  // namespace troika::cli
