// Reads signals from a signalfd.
#include "cli/signal_queue.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "cli/client.h"

namespace troika::cli {

SignalQueue::SignalQueue() {
  sigset_t queued;
  sigemptyset(&queued);
  sigaddset(&queued, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction current {};
    if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler != SIG_IGN) sigaddset(&queued, signal);
  }
  file_ = Descriptor(::signalfd(-1, &queued, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_.is_open()) throw Failure(std::string("cannot watch signals: ") + std::strerror(errno));
  struct sigaction action {};
  action.sa_handler = SIG_DFL;  // if it were ignored, the system would drop the children's statuses
  action.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &action, &child_before_);
  action = {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &pipe_before_);
  ::sigprocmask(SIG_BLOCK, &queued, &mask_before_);
}

SignalQueue::~SignalQueue() { restore(); }

std::vector<SignalQueue::Arrived> SignalQueue::take() {
  std::vector<Arrived> arrived;
  signalfd_siginfo info;
  while (::read(file_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    arrived.push_back({signal, signal == SIGCHLD ? static_cast<pid_t>(info.ssi_pid) : 0});
  }
  return arrived;
}

void SignalQueue::restore() const {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace troika::cli
