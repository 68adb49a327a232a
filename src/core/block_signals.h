// Starts threads on which the host's signal handlers never run.
#pragma once

#include <signal.h>

namespace troika {

// Blocks every signal of the calling thread during its life. A thread that is started meanwhile
// inherits the blocked signals.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace troika
