// The signals of a launcher, as a queue that it reads when it is ready for them.
#pragma once

#include <csignal>
#include <vector>

#include "cli/descriptor.h"

namespace troika::cli {

// While an object of this class lives, these signals of the process are blocked, and wait in the
// queue: SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2. A signal that the process ignores
// from its start stays ignored, as with nohup. SIGPIPE is ignored.
class SignalQueue {
 public:
  struct Arrived {
    int signal;
    pid_t child;  // that has ended, for SIGCHLD
  };

  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int descriptor() const { return file_.get(); }  // to poll

  // Takes the signals that have arrived. The system keeps one SIGCHLD at a time, the first since
  // the last call, so it names the child that ended first.
  std::vector<Arrived> take();

  // Undoes everything in a forked process. Async-signal-safe.
  void restore() const;

 private:
  Descriptor file_;
  sigset_t mask_before_;
  struct sigaction child_before_, pipe_before_;
};

}  // namespace troika::cli
