// A replica's plans, one per key. The plan that was not used for longest makes room for the next.
#pragma once

#include <memory>
#include <vector>

#include "plan/compile.h"
#include "runtime/executor.h"
#include "train/sample_store.h"

namespace troika {

// Identifies a plan of a replica.
struct PlanKey {
  Mode mode = Mode::train;
  int64_t local_batch = 0, global_batch = 0;
  bool is_alone = false;      // the replica computes the whole batch: nothing is summed over ranks
  ValueId output = kNoValue;  // of the model, to predict; kNoValue: its own output
  StepForm form = {};         // of training
  bool is_late = false;       // updates by the gradients of the step before
  bool operator==(const PlanKey&) const = default;
};

struct CompiledPlan {
  PlanKey key;
  std::unique_ptr<Plan> plan;
  uint64_t last_use;
  int runs = 0;  // on the present addresses
  // Launches that gather the plan's samples from `gathers_from`, shuffled or not.
  std::vector<std::unique_ptr<Kernel>> gathers = {};
  const SampleStore* gathers_from = nullptr;
  bool gathers_shuffled = false;

  void forget_gathers();
};

class CompiledPlans {
 public:
  // Makes the plan of that key current. False: there is none.
  bool use(const PlanKey& key);
  void add(const PlanKey& key, std::unique_ptr<Plan> plan);  // and makes it current
  CompiledPlan& current() const { return *current_; }
  size_t size() const { return plans_.size(); }

  void clear();
  void bind_all(const Bases& bases);  // to new addresses
  void forget_gathers();              // of stores that may no longer exist

 private:
  std::vector<CompiledPlan> plans_;
  CompiledPlan* current_ = nullptr;
  uint64_t uses_ = 0;
};

}  // namespace troika
