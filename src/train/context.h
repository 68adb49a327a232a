// The context: the log, the CPU cores and the default seed, which everything else shares.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/log.h"
#include "device/backend.h"
#include "eager/eager_device.h"
#include "train/cpu_share.h"
#include "train/thread_budget.h"

namespace troika {

struct ContextOptions {
  int cpu_threads = 0;      // 0: every core that the process may use
  int predict_threads = 0;  // of one prediction; 0: as many as its work is worth
  uint64_t seed = 0;
  Log::Sink log;
  LogLevels log_levels = all_topics(LogLevel::warning);
  BackendSettings backends;
  std::string dumped_pass;            // see core/log.h
  std::vector<std::string> left_out;  // see StepSpec
};

class Context {
 public:
  explicit Context(ContextOptions options);

  const Log& log() const { return log_; }
  uint64_t seed() const { return seed_; }
  const BackendRegistry& backends() const { return *backends_; }
  const std::string& plugin_folder() const { return plugin_folder_; }
  const std::vector<std::string>& left_out() const { return left_out_; }  // passes, of the trainers that a host makes

  const CpuShare& cpus() const { return cpus_; }            // of a process that has the machine alone
  const CpuClaim& cpu_claim() const { return cpu_claim_; }  // of a process in a group
  int cpu_threads() const { return cpus_.threads; }         // of all CPU devices together
  int predict_threads() const { return predict_threads_; }  // of one prediction; 0: as many as its work is worth
  // Returns the device that stores tensors and computes with them. DEVICE_UNAVAILABLE. Any thread.
  EagerDevice& eager_device(DeviceId id) const;

  // The threads of predictions that use several.
  ThreadBudget& thread_budget() const { return *thread_budget_; }

 private:
  Log log_;
  uint64_t seed_;
  int predict_threads_ = 0;
  std::unique_ptr<ThreadBudget> thread_budget_;
  const CpuClaim cpu_claim_;
  const CpuShare cpus_;
  std::unique_ptr<BackendRegistry> backends_;
  const std::string plugin_folder_;
  const std::vector<std::string> left_out_;
  mutable std::mutex eager_mutex_;
  mutable std::map<std::pair<DeviceKind, int32_t>, std::unique_ptr<EagerDevice>> eager_devices_;
};

}  // namespace troika
