// Creating a context.
#include "train/context.h"

#include <algorithm>

#include "core/cpu_cores.h"
#include "core/error.h"
#include "core/text.h"

namespace troika {

namespace {

constexpr int kMostThreadsOfCore = 8, kAllowedThreads = 64;

}  // namespace

Context::Context(ContextOptions options)
    : log_(std::move(options.log), options.log_levels, std::move(options.dumped_pass)),
      seed_(options.seed),
      cpu_claim_{options.cpu_threads, allowed_cores()},
      cpus_(divide_cores({cpu_claim_}, 0)),
      backends_(BackendRegistry::create(options.backends)),
      plugin_folder_(options.backends.plugin_folder),
      left_out_(std::move(options.left_out)) {
  const int cores = static_cast<int>(cpus_.cores.size()), most = std::max(kAllowedThreads, kMostThreadsOfCore * cores);
  if (cpu_threads() > most)
    throw Error(Status::invalid_argument,
                text("context: cpu_threads is ", cpu_threads(), ", with ", cores, " cores it may be at most ", most));
  predict_threads_ = options.predict_threads;
  if (predict_threads_ > cpu_threads())
    throw Error(Status::invalid_argument, text("context: predict_threads is ", predict_threads_,
                                               ", may be at most cpu_threads, which is ", cpu_threads()));
  thread_budget_ = std::make_unique<ThreadBudget>(cpu_threads());
}

EagerDevice& Context::eager_device(DeviceId id) const {
  const std::lock_guard lock(eager_mutex_);
  auto& device = eager_devices_[{id.kind, id.index}];
  if (!device) device = std::make_unique<EagerDevice>(backends_->open(id, {cpu_threads(), {}, false}));
  return *device;
}

}  // namespace troika
