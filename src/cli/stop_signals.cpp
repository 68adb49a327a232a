// Notes the signals that ask for a stop.
#include "cli/stop_signals.h"

namespace troika::cli {
namespace {

volatile std::sig_atomic_t noted_signal = 0;

extern "C" void note_signal(int signal) { noted_signal = signal; }

}  // namespace

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (int i = 0; i < 2; ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}

StopSignals::~StopSignals() {
  for (int i = 0; i < 2; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool StopSignals::stop_requested() { return noted_signal != 0; }

int StopSignals::exit_status() { return 128 + noted_signal; }

}  // namespace troika::cli
