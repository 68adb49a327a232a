// Finding and replacing plans.
#include "train/compiled_plans.h"

#include <algorithm>

namespace troika {
namespace {

constexpr size_t kMostPlans = 16;

}  // namespace

void CompiledPlan::forget_gathers() {
  gathers.clear();
  gathers_from = nullptr;
}

bool CompiledPlans::use(const PlanKey& key) {
  for (CompiledPlan& entry : plans_)
    if (entry.key == key) {
      entry.last_use = ++uses_;
      current_ = &entry;
      return true;
    }
  return false;
}

void CompiledPlans::add(const PlanKey& key, std::unique_ptr<Plan> plan) {
  if (plans_.size() >= kMostPlans)
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const CompiledPlan& a, const CompiledPlan& b) {
      return a.last_use < b.last_use;
    }));
  plans_.push_back({key, std::move(plan), ++uses_});
  current_ = &plans_.back();
}

void CompiledPlans::clear() {
  plans_.clear();
  current_ = nullptr;
}

void CompiledPlans::bind_all(const Bases& bases) {
  for (CompiledPlan& entry : plans_) {
    bind(*entry.plan, bases);
    entry.runs = 0;
    entry.forget_gathers();
  }
}

void CompiledPlans::forget_gathers() {
  for (CompiledPlan& entry : plans_) entry.forget_gathers();
}

}  // namespace troika
