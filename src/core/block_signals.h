// Starts threads on which the host's signal handlers never run.
#pragma once

#ifndef _WIN32
#include <signal.h>
#endif

namespace troika {

// Blocks every signal of the calling thread during its life, except real-time signals. A thread
// that is started meanwhile inherits the blocked signals.
//
// Real-time signals stay as the host has them. Managed runtimes stop all threads by one of them
// when they collect garbage, also a thread of the library that has called into the runtime.
class BlockSignals {
#ifdef _WIN32
 public:
  BlockSignals() {}  // threads of Windows have no signals
#else
 public:
  BlockSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
#endif
};

}  // namespace troika
