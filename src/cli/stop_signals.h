// Stopping a run by Ctrl-C or SIGTERM.
#pragma once

#include <csignal>

namespace troika::cli {

// While one lives, Ctrl-C (and SIGTERM) ask for a stop; a second one ends the program at once, since the default action
// is back by then.
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
