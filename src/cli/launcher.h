// Starts the processes of a job, watches them, and ends them all if one fails.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/child_process.h"
#include "cli/job.h"
#include "cli/job_environment.h"
#include "cli/job_output.h"
#include "cli/signal_queue.h"

namespace troika::cli {

class Launcher {
 public:
  explicit Launcher(const Job& job);
  ~Launcher();

  // Runs the job with its restarts, and returns the exit status. No process of the job's process
  // groups runs afterwards.
  int run();

 private:
  void start(int attempt);
  void watch();  // until all processes have ended, and their outputs are read
  void report();
  bool may_restart(int attempt);
  int exit_status() const;
  void write_rest();  // of the outputs

  // Waits for an event: a signal, bytes in a pipe, a reader that takes more, or a deadline.
  void wait();
  void read_pipes(const std::vector<ChildProcess*>& ready);
  void write_outputs();
  void take_signals();
  void pass_on(int signal);
  void note_end(int process, int wait_status);
  void end_all();              // after a failure
  void kill_all(bool is_late);  // `is_late`: because the processes have not ended in time
  void keep_deadlines();
  bool all_ended() const;
  bool has_groups() const;
  bool has_open_pipes() const;
  std::optional<Clock::time_point> next_deadline() const;

  const Job& job_;
  JobEnvironment environment_;
  Program program_;
  SignalQueue signals_;
  JobOutput output_;
  std::vector<char> buffer_;
  std::vector<std::unique_ptr<ChildProcess>> processes_;

  int stop_signal_ = 0;          // SIGINT or SIGTERM
  std::vector<int> passed_on_;   // other signals of this attempt
  std::vector<int> failures_;    // processes that failed before they were told to end, in order of time
  std::vector<int> late_;        // processes that were killed, because they did not end in time
  int first_failed_ = -1;        // the first process that failed for any reason
  bool were_told_ = false;       // to end
  double patience_ = 0;          // seconds until kill_at_
  std::optional<Clock::time_point> kill_at_, stop_reading_at_;
};

}  // namespace troika::cli
