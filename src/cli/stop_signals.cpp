// Notes the signals that ask for a stop.
#include "cli/stop_signals.h"

namespace troika::cli {
namespace {

volatile std::sig_atomic_t noted_signal = 0;

// Interrupted system calls go on: std::signal asks for that on every system of the tool.
extern "C" void note_signal(int signal) {
  std::signal(signal, SIG_DFL);
  noted_signal = signal;
}

}  // namespace

StopSignals::StopSignals() {
  for (int i = 0; i < 2; ++i) before_[i] = std::signal(kSignals[i], note_signal);
}

StopSignals::~StopSignals() {
  for (int i = 0; i < 2; ++i) std::signal(kSignals[i], before_[i]);
}

bool StopSignals::stop_requested() { return noted_signal != 0; }

int StopSignals::exit_status() { return 128 + noted_signal; }

}  // namespace troika::cli
