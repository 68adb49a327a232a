// Creating a context.
#include "train/context.h"

#include <sched.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace troika {

namespace {

constexpr int kMostThreadsOfCore = 8, kAllowedThreads = 64;

}  // namespace

Context::Context(ContextOptions options)
    : log_(std::move(options.log), options.log_levels, std::move(options.dumped_pass)),
      seed_(options.seed),
      backends_(BackendRegistry::create(options.backends)),
      plugin_folder_(options.backends.plugin_folder) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cpu_cores_.push_back(core);
  if (cpu_cores_.empty()) cpu_cores_.push_back(0);
  const int cores = static_cast<int>(cpu_cores_.size()), most = std::max(kAllowedThreads, kMostThreadsOfCore * cores);
  cpu_threads_ = options.cpu_threads > 0 ? options.cpu_threads : cores;
  if (cpu_threads_ > most)
    throw Error(Status::invalid_argument,
                text("context: cpu_threads is ", cpu_threads_, ", with ", cores, " cores it may be at most ", most));
  predict_threads_ = options.predict_threads;
  if (predict_threads_ > cpu_threads_)
    throw Error(Status::invalid_argument, text("context: predict_threads is ", predict_threads_,
                                               ", may be at most cpu_threads, which is ", cpu_threads_));
  thread_budget_ = std::make_unique<ThreadBudget>(cpu_threads_);
}

DeviceShare Context::cpu_share(int index, int count) const {
  DeviceShare share;
  const Range threads = balanced_split(cpu_threads_, count, index);
  share.threads = std::max<int>(1, static_cast<int>(threads.size()));
  // Workers are pinned only if several devices share the cores, and each device has cores of its
  // own.
  if (count > 1 && count <= cpu_threads_ && cpu_threads_ <= static_cast<int>(cpu_cores_.size()))
    for (int64_t i = threads.begin; i < threads.end; ++i) share.cores.push_back(cpu_cores_[static_cast<size_t>(i)]);
  return share;
}

}  // namespace troika
