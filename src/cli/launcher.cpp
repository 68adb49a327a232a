// The attempts of a job: an event loop over signals, pipes and deadlines.
#include "cli/launcher.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr size_t kBufferSize = size_t{64} << 10;
constexpr size_t kMostInPipe = size_t{1} << 20;
constexpr double kStopPatience = 30;  // seconds that processes have after the first SIGINT or SIGTERM
// Seconds that the processes' own children have after the job's end.
constexpr double kRestPatience = 1;
constexpr double kEndingPatience = 1;  // seconds that processes that are about to end have to do so
constexpr double kReaderPatience = 5;  // seconds that the outputs' readers have after a stop

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool is_past(const std::optional<Clock::time_point>& deadline) { return deadline && Clock::now() >= *deadline; }

// Returns the milliseconds until the earliest deadline, for poll.
int milliseconds_until(std::initializer_list<std::optional<Clock::time_point>> deadlines) {
  std::optional<Clock::time_point> earliest;
  for (const auto& deadline : deadlines)
    if (deadline && (!earliest || *deadline < *earliest)) earliest = deadline;
  if (!earliest) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*earliest - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1000 * 1000));
}

// Whether this signal ends a process for a reason of its own, and not because another process has
// failed: lost connections cause exit statuses, SIGABRT and SIGPIPE.
bool is_own_failure(int signal) { return signal != 0 && signal != SIGABRT && signal != SIGPIPE; }

bool stops_job(int signal) { return signal == SIGINT || signal == SIGTERM; }

}  // namespace

Launcher::Launcher(const LaunchOptions& options)
    : options_(options),
      environment_(options),
      program_(options.program),
      output_(options),
      status_(options),
      buffer_(kBufferSize) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // see ChildProcess::has_group
}

int Launcher::run() {
  try {
    const int status = run_attempts();
    write_rest();
    const int error = output_.of(Stream::output).error();
    if (status == 0 && error != 0)
      throw Failure(std::string("cannot write to standard output: ") + std::strerror(error));
    return stop_signal_ != 0 ? exit_status() : status;
  } catch (const StartFailure& failure) {
    processes_.clear();  // ends those that have started
    output_.print(std::string("troika run: ") + failure.what());
    write_rest();
    return 127;
  }
}

int Launcher::run_attempts() {
  for (int attempt = 0;; ++attempt) {
    start(attempt);
    watch();
    report();
    if (!may_restart(attempt)) return exit_status();
    output_.print(formatted("troika run: starting again, attempt %d of %d", attempt + 2, options_.restarts + 1));
  }
}

void Launcher::start(int attempt) {
  attempt_ = Attempt();
  processes_.clear();
  environment_.begin_attempt(attempt);
  output_.begin_attempt(attempt);
  // A process in a process group of its own would stop if it read from a terminal.
  const bool has_input = ::isatty(STDIN_FILENO) == 0;
  for (int i = 0; i < options_.processes; ++i)
    processes_.push_back(std::make_unique<ChildProcess>(program_, environment_.variables(i), signals_,
                                                        has_input && options_.rank(i) == 0));
  status_.begin_attempt(attempt, processes_);
}

void Launcher::watch() {
  for (;;) {
    keep_deadlines();
    if (is_over()) break;
    wait();
  }
  read_rest();
  // The first failure for a reason of its own is the root cause.
  std::stable_partition(attempt_.failures.begin(), attempt_.failures.end(),
                        [&](int i) { return is_own_failure(processes_[static_cast<size_t>(i)]->ending_signal()); });
}

void Launcher::report() {
  const auto name = [&](int process) {
    return formatted("troika run: rank %d (process %d)", options_.rank(process),
                     static_cast<int>(processes_[static_cast<size_t>(process)]->id()));
  };
  for (const int i : attempt_.failures) {
    const ChildProcess& process = *processes_[static_cast<size_t>(i)];
    const int signal = process.ending_signal();
    const std::string how = signal != 0 ? formatted("was ended by signal %d (%s)", signal, ::strsignal(signal))
                                        : formatted("ended with exit status %d", process.exit_status());
    output_.print(name(i) + formatted(" %s after %.1f s", how.c_str(), process.seconds()));
    if (i == attempt_.failures.front() && !output_.last_line(i).empty())
      output_.print("  its last line: " + output_.last_line(i));
  }
  for (const Late& late : attempt_.late)
    output_.print(name(late.process) + formatted(" did not end within %g s, and was killed", late.seconds));
}

bool Launcher::may_restart(int attempt) {
  take_signals();
  if (attempt_.failures.empty() || stop_signal_ != 0 || attempt >= options_.restarts) return false;
  const int signal = processes_[static_cast<size_t>(attempt_.failures.front())]->ending_signal();
  return std::find(attempt_.passed_on.begin(), attempt_.passed_on.end(), signal) == attempt_.passed_on.end();
}

int Launcher::exit_status() const {
  const int first = attempt_.failures.empty() ? attempt_.first_failed : attempt_.failures.front();
  if (first >= 0) return processes_[static_cast<size_t>(first)]->exit_status();
  return stop_signal_ != 0 ? 128 + stop_signal_ : 0;
}

void Launcher::wait() {
  std::vector<pollfd> polled = {{signals_.descriptor(), POLLIN, 0}};
  for (const Stream stream : kStreams) {
    const LineOutput& output = output_.of(stream);
    polled.push_back({output.has_kept() ? output.file() : -1, POLLOUT, 0});
  }
  const size_t first_pipe = polled.size();
  for (const auto& process : processes_)
    for (const Stream stream : kStreams)  // poll skips -1
      polled.push_back({output_.of(stream).is_full() ? -1 : process->descriptor(stream), POLLIN, 0});
  ::poll(polled.data(), polled.size(),
         milliseconds_until({attempt_.decide_at, attempt_.kill_at, attempt_.stop_reading_at}));
  size_t pipe = first_pipe;
  for (int i = 0; i < options_.processes; ++i)
    for (const Stream stream : kStreams)
      if (polled[pipe++].revents != 0) read_pipe(i, stream);
  write_outputs();
  take_signals();
}

void Launcher::read_pipe(int process, Stream stream) {
  ChildProcess& child = *processes_[static_cast<size_t>(process)];
  output_.add(process, stream, child.read(stream, buffer_.data(), buffer_.size()));
}

void Launcher::read_rest() {
  for (int i = 0; i < options_.processes; ++i)
    for (const Stream stream : kStreams) {
      ChildProcess& child = *processes_[static_cast<size_t>(i)];
      // Somebody else may have the pipe open, and go on writing.
      for (size_t count = 0; child.is_open(stream) && count < kMostInPipe;) {
        const std::string_view bytes = child.read(stream, buffer_.data(), buffer_.size());
        if (bytes.empty()) break;
        output_.add(i, stream, bytes);
        count += bytes.size();
      }
      child.close(stream);
      output_.finish(i, stream);
    }
}

void Launcher::write_outputs() {
  for (const Stream stream : kStreams) {
    LineOutput& output = output_.of(stream);
    output.write();
    // The processes learn of the failure in the way that they would without a launcher.
    if (output.error() != 0)
      for (const auto& process : processes_) process->close(stream);
  }
}

void Launcher::write_rest() {
  std::optional<Clock::time_point> give_up_at;
  if (stop_signal_ != 0) give_up_at = after(kReaderPatience);
  for (;;) {
    write_outputs();
    std::vector<pollfd> polled = {{signals_.descriptor(), POLLIN, 0}};
    for (const Stream stream : kStreams)
      if (output_.of(stream).has_kept()) polled.push_back({output_.of(stream).file(), POLLOUT, 0});
    if (polled.size() == 1 || is_past(give_up_at)) return;
    ::poll(polled.data(), polled.size(), milliseconds_until({give_up_at}));
    for (const SignalQueue::Arrived& arrived : signals_.take())
      if (stops_job(arrived.signal)) {
        stop_signal_ = arrived.signal;
        return;
      }
  }
}

void Launcher::take_signals() {
  std::vector<pid_t> order;  // of the ends, as far as the signals say
  std::vector<int> others;
  const auto take = [&] {
    for (const SignalQueue::Arrived& arrived : signals_.take())
      if (arrived.signal == SIGCHLD)
        order.push_back(arrived.child);
      else
        others.push_back(arrived.signal);
  };
  take();
  std::vector<std::pair<pid_t, int>> ended;
  int wait_status = 0;
  for (pid_t id; (id = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) ended.emplace_back(id, wait_status);
  take();
  const auto place = [&](const auto& end) { return std::find(order.begin(), order.end(), end.first) - order.begin(); };
  std::stable_sort(ended.begin(), ended.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  for (const auto& [id, status] : ended) note_end(id, status);
  decide();
  for (const int signal : others) pass_on(signal);
}

void Launcher::note_end(pid_t id, int wait_status) {
  for (int i = 0; i < static_cast<int>(processes_.size()); ++i) {
    ChildProcess& process = *processes_[static_cast<size_t>(i)];
    if (process.id() != id || process.has_ended()) continue;
    process.note_end(wait_status);
    status_.note_end(i, process);
    if (!process.failed()) return;
    if (attempt_.first_failed < 0) attempt_.first_failed = i;
    if (!attempt_.were_told) attempt_.failures.push_back(i);
    return;
  }
}

void Launcher::pass_on(int signal) {
  for (const auto& process : processes_) process->send(signal);
  if (!stops_job(signal)) {
    attempt_.passed_on.push_back(signal);
  } else if (stop_signal_ != 0) {
    kill_all();
  } else {
    stop_signal_ = signal;
    attempt_.were_told = true;
    attempt_.decide_at.reset();
    kill_within(kStopPatience);
  }
}

void Launcher::decide() {
  if (attempt_.failures.empty() || attempt_.were_told) return;
  // A process loses its connections before it has ended. So another one may fail because of it, and
  // end earlier.
  const bool are_ending = std::any_of(processes_.begin(), processes_.end(), [](auto& p) { return p->is_ending(); });
  if (are_ending && !attempt_.decide_at) attempt_.decide_at = after(kEndingPatience);
  if (are_ending && !is_past(attempt_.decide_at)) return;
  attempt_.decide_at.reset();
  attempt_.were_told = true;
  for (const auto& process : processes_) process->terminate();
  kill_within(options_.grace);
}

void Launcher::kill_within(double seconds) {
  const Clock::time_point at = after(seconds);
  if (attempt_.kill_at && *attempt_.kill_at <= at) return;
  attempt_.kill_at = at;
  attempt_.patience = seconds;
}

void Launcher::kill_all() {
  attempt_.kill_at.reset();
  for (const auto& process : processes_) process->send(SIGKILL);
}

void Launcher::keep_deadlines() {
  if (is_past(attempt_.kill_at)) {
    for (int i = 0; i < options_.processes; ++i)
      if (!processes_[static_cast<size_t>(i)]->has_ended()) attempt_.late.push_back({i, attempt_.patience});
    kill_all();
  }
  if (!all_ended()) return;
  if (has_groups() && !attempt_.kill_at) kill_within(kRestPatience);
  if (!has_groups() && !attempt_.stop_reading_at) attempt_.stop_reading_at = after(kRestPatience);
}

bool Launcher::is_over() {
  if (!all_ended() || has_groups()) return false;
  const bool has_open_pipes = std::any_of(processes_.begin(), processes_.end(), [](const auto& process) {
    return process->is_open(Stream::output) || process->is_open(Stream::errors);
  });
  return !has_open_pipes || is_past(attempt_.stop_reading_at);
}

bool Launcher::all_ended() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const auto& process) { return process->has_ended(); });
}

bool Launcher::has_groups() {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& process) { return process->has_group(); });
}

}  // namespace troika::cli
