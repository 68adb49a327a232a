// The context: the log, the CPU cores and the default seed, which everything else shares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/split.h"
#include "device/backend.h"

namespace troika {

struct ContextOptions {
  int cpu_threads = 0;  // 0: every core that the process may use
  uint64_t seed = 0;
  Log::Sink log;
  LogLevel log_level = LogLevel::warning;
  std::vector<std::string> backends;  // names; empty: all
};

class Context {
 public:
  explicit Context(ContextOptions options);

  const Log& log() const { return log_; }
  uint64_t seed() const { return seed_; }
  const BackendRegistry& backends() const { return *backends_; }

  // Returns the threads and cores of CPU device number `index`, if `count` devices are attached
  // together.
  DeviceShare cpu_share(int index, int count) const;
  int cpu_threads() const { return cpu_threads_; }  // of all CPU devices together

 private:
  Log log_;
  uint64_t seed_;
  int cpu_threads_ = 1;
  std::vector<int> cpu_cores_;  // that the process may use
  std::unique_ptr<BackendRegistry> backends_;
};

}  // namespace troika
