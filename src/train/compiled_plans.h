// A replica's plans, one per mode and batch; the one unused for longest makes room for the next.
#pragma once

#include <memory>
#include <vector>

#include "plan/compile.h"
#include "runtime/executor.h"
#include "train/sample_store.h"

namespace troika {

struct CompiledPlan {
  Mode mode;
  int64_t local_batch, global_batch;
  std::unique_ptr<Plan> plan;
  uint64_t last_use;
  int runs = 0;  // on the present addresses
  // Launches that gather the plan's samples, from that store and so shuffled.
  std::vector<std::unique_ptr<Kernel>> gathers = {};
  const SampleStore* gathers_from = nullptr;
  bool gathers_shuffled = false;

  void forget_gathers();
};

class CompiledPlans {
 public:
  // Makes the plan of that mode and these batches current. False: there is none.
  bool use(Mode mode, int64_t local_batch, int64_t global_batch);
  void add(const CompileRequest& request, std::unique_ptr<Plan> plan);  // and makes it current
  CompiledPlan& current() const { return *current_; }
  size_t size() const { return plans_.size(); }

  void clear();
  void bind_all(const Bases& bases);  // to new addresses
  void forget_gathers();              // of stores that may be gone

 private:
  std::vector<CompiledPlan> plans_;
  CompiledPlan* current_ = nullptr;
  uint64_t uses_ = 0;
};

}  // namespace troika
