// Stopping a run by Ctrl-C or SIGTERM.
#pragma once

#include <csignal>

namespace troika::cli {

// While an object of this class lives, Ctrl-C (and SIGTERM) ask for a stop. A second signal ends
// the program at once, because the default action is restored by then.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool stop_requested();
  static int exit_status();  // as a shell reports a program that this signal ended: 130 or 143

 private:
  static constexpr int kSignals[2] = {SIGINT, SIGTERM};
  struct sigaction before_[2];
};

}  // namespace troika::cli
