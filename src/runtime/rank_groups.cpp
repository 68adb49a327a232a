// Room for a plan's collectives, and the end of all groups at once.
#include "runtime/rank_groups.h"

namespace troika {

void RankGroups::reserve(const Plan& plan) const {
  for (size_t i = 0; i < sums_.size(); ++i)
    if (sums_[i]) sums_[i]->reserve(plan.slots[i]);
  for (const PlanStep& step : plan.steps)
    if (step.kind == PlanStep::receive) {
      const Message& message = plan.messages[step.index];
      pipeline_->reserve(message.peer, message.slot, message.location.bytes);
    }
}

void RankGroups::abort(const std::string& reason) const {
  for (const auto& communicator : sums_)
    if (communicator) communicator->abort(reason);
  if (pipeline_) pipeline_->abort(reason);
}

}  // namespace troika
