// Notes the signals that ask for a stop.
#include "cli/stop_signals.h"

#include "cli/terminal.h"

namespace troika::cli {
namespace {

volatile std::sig_atomic_t noted_signal = 0;
// A handler must not allocate, so the answer is made before.
char answer_text[256];
int answer_size = 0;

// Interrupted system calls go on: std::signal asks for that on every system of the tool.
extern "C" void note_signal(int signal) {
  std::signal(signal, SIG_DFL);
  noted_signal = signal;
  if (answer_size > 0) write_at_once(answer_text, answer_size);
}

}  // namespace

StopSignals::StopSignals(const std::string& answer) {
  answer_size = static_cast<int>(answer.copy(answer_text, sizeof answer_text));
  for (int i = 0; i < kCount; ++i) {
    before_[i] = std::signal(kSignals[i], note_signal);
#ifndef _WIN32
    // A program that nohup started outlives its terminal.
    if (kSignals[i] == SIGHUP && before_[i] == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
#endif
  }
}

StopSignals::~StopSignals() {
  for (int i = 0; i < kCount; ++i) std::signal(kSignals[i], before_[i]);
}

bool StopSignals::stop_requested() { return noted_signal != 0; }

int StopSignals::exit_status() { return 128 + noted_signal; }

}  // namespace troika::cli
