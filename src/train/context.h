// The context: the log, the CPU cores and the default seed, which everything else shares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/split.h"
#include "device/backend.h"
#include "train/thread_budget.h"

namespace troika {

struct ContextOptions {
  int cpu_threads = 0;      // 0: every core that the process may use
  int predict_threads = 0;  // of one prediction; 0: as many as its work is worth
  uint64_t seed = 0;
  Log::Sink log;
  LogLevels log_levels = all_topics(LogLevel::warning);
  BackendSettings backends;
  std::string dumped_pass;  // see core/log.h
};

class Context {
 public:
  explicit Context(ContextOptions options);

  const Log& log() const { return log_; }
  uint64_t seed() const { return seed_; }
  const BackendRegistry& backends() const { return *backends_; }
  const std::string& plugin_folder() const { return plugin_folder_; }

  // Returns the threads and cores of CPU device number `index`, if `count` devices are attached
  // together.
  DeviceShare cpu_share(int index, int count) const;
  int cpu_threads() const { return cpu_threads_; }          // of all CPU devices together
  int predict_threads() const { return predict_threads_; }  // of one prediction; 0: as many as its work is worth
  // Of predictions with several threads.
  ThreadBudget& thread_budget() const { return *thread_budget_; }

 private:
  Log log_;
  uint64_t seed_;
  int cpu_threads_ = 1;
  int predict_threads_ = 0;
  std::unique_ptr<ThreadBudget> thread_budget_;
  std::vector<int> cpu_cores_;  // that the process may use
  std::unique_ptr<BackendRegistry> backends_;
  const std::string plugin_folder_;
};

}  // namespace troika
