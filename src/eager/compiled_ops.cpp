// Lookup of compiled ops, by use.
#include "eager/compiled_ops.h"

namespace troika {

CompiledOp& CompiledOps::find(Device& device, const OpCall& call) {
  const auto found = places_.find(&call);
  if (found != places_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return found->second->op;
  }
  order_.push_front({call, CompiledOp(device, call)});
  try {
    places_.emplace(&order_.front().call, order_.begin());
  } catch (...) {
    order_.pop_front();
    throw;
  }
  if (order_.size() > most_) {
    places_.erase(&order_.back().call);
    order_.pop_back();
  }
  return order_.front().op;
}

}  // namespace troika
