// Stopping a run by Ctrl-C, SIGTERM or SIGHUP.
#pragma once

#include <csignal>
#include <string>

namespace troika::cli {

// While an object of this class lives, Ctrl-C asks for a stop, and so do SIGTERM and SIGHUP (the
// terminal is closed), or Ctrl-Break on Windows. A second signal ends the program at once, because
// the default action is restored by then.
class StopSignals {
 public:
  // The signal is answered at once with `answer` on standard error; empty: with nothing.
  explicit StopSignals(const std::string& answer = {});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool stop_requested();
  // As a shell reports a program that this signal ended: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP)
  // or 149 (Ctrl-Break).
  static int exit_status();

 private:
#ifdef _WIN32
  static constexpr int kSignals[] = {SIGINT, SIGBREAK};
#else
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
#endif
  static constexpr int kCount = static_cast<int>(sizeof kSignals / sizeof kSignals[0]);
  void (*before_[kCount])(int);
};

}  // namespace troika::cli
