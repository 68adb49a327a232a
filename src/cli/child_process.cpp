// Starts processes with fork and execve, and signals their groups.
#include "cli/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/text.h"

namespace troika::cli {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure(std::string("cannot make a pipe: ") + std::strerror(errno));
    out = Descriptor(ends[0]);
    in = Descriptor(ends[1]);
  }

  Descriptor out, in;  // what is written to `in` is read from `out`
};

// Waits until the other process has executed its program (0), or could not (errno).
int wait_for_execution(Pipe& reports) {
  reports.in.close();
  int reason = 0;
  ssize_t count;
  do count = ::read(reports.out.get(), &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof reason) ? reason : 0;
}

}  // namespace

Program::Program(std::vector<std::string> words) : words_(std::move(words)) {
  if (name().find('/') != std::string::npos) {
    paths_.push_back(name());
  } else if (!name().empty()) {
    const char* const path = std::getenv("PATH");
    for (const std::string& folder : split(path ? path : "/bin:/usr/bin", ':'))
      paths_.push_back((folder.empty() ? "." : folder) + "/" + name());
  }
  static char shell[] = "sh";
  shell_arguments_ = {shell, nullptr};  // the second is the path of the script
  for (std::string& word : words_) arguments_.push_back(word.data());
  shell_arguments_.insert(shell_arguments_.end(), arguments_.begin() + 1, arguments_.end());
  arguments_.push_back(nullptr);
  shell_arguments_.push_back(nullptr);
}

int Program::execute(char* const* environment) {
  int reason = ENOENT;
  for (std::string& path : paths_) {
    ::execve(path.c_str(), arguments_.data(), environment);
    if (errno == ENOEXEC) {
      shell_arguments_[1] = path.data();
      ::execve("/bin/sh", shell_arguments_.data(), environment);
      return ENOEXEC;
    }
    if (errno == EACCES)
      reason = EACCES;  // the reason if no other folder has the program
    else if (errno != ENOENT && errno != ENOTDIR)
      return errno;
  }
  return reason;
}

ChildProcess::ChildProcess(Program& program, const std::vector<std::string>& environment, const SignalQueue& signals,
                           bool reads_input) {
  Pipe output, errors, reports;
  const Descriptor no_input(reads_input ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!reads_input && !no_input.is_open()) throw Failure(std::string("cannot open /dev/null: ") + std::strerror(errno));
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  const pid_t launcher = ::getpid();
  began_ = Clock::now();
  id_ = ::fork();
  if (id_ < 0) throw Failure(std::string("cannot start a process: ") + std::strerror(errno));
  if (id_ == 0) {  // only async-signal-safe calls from here on
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(1);  // it has ended before prctl
    if (!reads_input) ::dup2(no_input.get(), STDIN_FILENO);
    ::dup2(output.in.get(), STDOUT_FILENO);
    ::dup2(errors.in.get(), STDERR_FILENO);
    signals.restore();
    const int reason = program.execute(variables.data());
    [[maybe_unused]] const ssize_t reported = ::write(reports.in.get(), &reason, sizeof reason);
    ::_exit(127);
  }
  ::setpgid(id_, id_);  // here too: the first signal may come before the process runs
  if (const int reason = wait_for_execution(reports)) {
    ::waitpid(id_, nullptr, 0);
    throw StartFailure("cannot start '" + program.name() + "': " + std::strerror(reason));
  }
  pipe(Stream::output) = std::move(output.out);
  pipe(Stream::errors) = std::move(errors.out);
  for (const Stream stream : kStreams) ::fcntl(descriptor(stream), F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  send(SIGKILL);
  if (!has_ended_) ::waitpid(id_, nullptr, 0);
}

void ChildProcess::terminate() {
  send(SIGTERM);
  send(SIGCONT);
}

void ChildProcess::send(int signal) {
  if (has_group()) ::kill(-id_, signal);
}

bool ChildProcess::has_group() {
  // The number of a group is free for others when its last process has been waited for. Only this
  // process waits for them, so the number is still the group's in the next call.
  siginfo_t info;
  if (has_group_ && has_ended_)
    has_group_ = ::waitid(P_PGID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return has_group_;
}

void ChildProcess::note_end(int wait_status) {
  has_ended_ = true;
  ended_ = Clock::now();
  wait_status_ = wait_status;
}

bool ChildProcess::is_ending() const {
  if (has_ended_) return false;
  // PID (NAME) STATE PARENT GROUP SESSION TERMINAL OWNER FLAGS ...
  std::ifstream file("/proc/" + std::to_string(id_) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 6; ++i) fields >> skipped;
  unsigned flags = 0;
  constexpr unsigned kIsExiting = 4;  // PF_EXITING of the kernel
  return fields >> flags && (flags & kIsExiting) != 0;
}

int ChildProcess::exit_status() const {
  return ending_signal() != 0 ? 128 + ending_signal() : WEXITSTATUS(wait_status_);
}

int ChildProcess::ending_signal() const { return WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0; }

double ChildProcess::seconds() const { return std::chrono::duration<double>(ended_ - began_).count(); }

std::string_view ChildProcess::read(Stream stream, char* buffer, size_t size) {
  const ssize_t count = ::read(descriptor(stream), buffer, size);
  if (count > 0) return {buffer, static_cast<size_t>(count)};
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) close(stream);
  return {};
}

}  // namespace troika::cli
