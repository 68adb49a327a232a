// Chooses ports, secrets and numbers of threads, and names them as Troika and torchrun do.
#include "cli/job_environment.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "cli/client.h"
#include "cli/descriptor.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr size_t kSecretBytes = 32;

std::string random_secret() {
  unsigned char bytes[kSecretBytes];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    throw Failure(std::string("cannot make a secret: ") + std::strerror(errno) + "; set TROIKA_SECRET");
  std::string digits;
  for (const unsigned char byte : bytes) digits += formatted("%02x", byte);
  return digits;
}

// Returns a port of 127.0.0.1 at which nobody listens. Another program may take it in the meantime:
// the processes then fail, and a restart takes another one.
int find_free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw Failure(std::string("cannot find a free port: ") + std::strerror(errno) + "; give --rendezvous");
  return ntohs(address.sin_port);
}

int count_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));  // more cores than the set can name
}

}  // namespace

JobEnvironment::JobEnvironment(const LaunchOptions& options) : options_(options) {
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      common_.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  }
  const auto is_set = [&](const char* name) { return common_.contains(name) && !common_[name].empty(); };
  if (!is_set("TROIKA_SECRET")) common_.erase("TROIKA_SECRET");  // an empty one would hide the file
  if (!is_set("TROIKA_SECRET") && !is_set("TROIKA_SECRET_FILE")) {
    if (options.nodes > 1) throw Failure("no secret; set TROIKA_SECRET_FILE (or TROIKA_SECRET), the same on all nodes");
    set("TROIKA_SECRET", random_secret());
  }
  const int threads = options.threads > 0 ? options.threads : std::max(1, count_cores() / options.processes);
  set("TROIKA_THREADS", threads);
  if (!is_set("OMP_NUM_THREADS")) set("OMP_NUM_THREADS", threads);

  set("TROIKA_WORLD_SIZE", options.size());
  set("TROIKA_LOCAL_SIZE", options.processes);
  set("TROIKA_NODE", options.node);
  set("WORLD_SIZE", options.size());
  set("LOCAL_WORLD_SIZE", options.processes);
  set("GROUP_RANK", options.node);
  set("TORCHELASTIC_MAX_RESTARTS", options.restarts);
  // A job inside this one has its own folder, or none.
  common_.erase("TROIKA_LOG_DIR");
  if (!options.log_folder.empty()) set("TROIKA_LOG_DIR", std::filesystem::absolute(options.log_folder).string());
  common_.erase("TORCHELASTIC_USE_AGENT_STORE");  // there is no agent with a store
}

void JobEnvironment::begin_attempt(int attempt) {
  const std::string host = options_.host.empty() ? "127.0.0.1" : options_.host;
  const int port = options_.host.empty() ? find_free_port() : options_.port;
  const std::string bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";  // IPv6
  set("TROIKA_RENDEZVOUS", "tcp://" + bracketed + ":" + std::to_string(port));
  set("MASTER_ADDR", host);
  set("MASTER_PORT", port);
  set("TROIKA_RESTART", attempt);
  set("TORCHELASTIC_RESTART_COUNT", attempt);
}

std::vector<std::string> JobEnvironment::variables(int process) const {
  std::map<std::string, std::string> all = common_;
  for (const char* name : {"TROIKA_RANK", "RANK"}) all[name] = std::to_string(options_.rank(process));
  for (const char* name : {"TROIKA_LOCAL_RANK", "LOCAL_RANK"}) all[name] = std::to_string(process);
  std::vector<std::string> variables;
  for (const auto& [name, value] : all) variables.push_back(name + "=" + value);
  return variables;
}

}  // namespace troika::cli
