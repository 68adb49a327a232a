// Stopping a run by Ctrl-C or SIGTERM.
#pragma once

#include <csignal>

namespace troika::cli {

// While an object of this class lives, Ctrl-C asks for a stop, and so does SIGTERM, or Ctrl-Break
// on Windows. A second signal ends the program at once, because the default action is restored by
// then.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool stop_requested();
  static int exit_status();  // as a shell reports a program that this signal ended: 130, 143 or 149

 private:
#ifdef _WIN32
  static constexpr int kSignals[2] = {SIGINT, SIGBREAK};
#else
  static constexpr int kSignals[2] = {SIGINT, SIGTERM};
#endif
  void (*before_[2])(int);
};

}  // namespace troika::cli
