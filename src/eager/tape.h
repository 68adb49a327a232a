// A record of ops that ran on tensors, and gradients from it by the ops' own rules (reverse mode).
#pragma once

#include <mutex>
#include <vector>

#include "eager/eager_device.h"

namespace troika {

// Any thread may call; calls run one after another. The tape holds every tensor that it records.
class Tape {
 public:
  // Makes a tensor known, so that ops that read it are recorded. Returns its number.
  ValueId watch(const TensorPtr& tensor);

  // Runs an op on the device and records it. inputs[i] has the number ids[i]; kNoValue: the tape
  // does not know it, and takes it for a constant. Returns the outputs; `first` is the number of
  // the first, the others follow.
  std::vector<TensorPtr> run(EagerDevice& device, const OpDef& op, const std::vector<TensorPtr>& inputs,
                             std::vector<ValueId> ids, Attributes attributes, ValueId& first);

  // Returns the gradients of a number (a tensor of one element) for each of `wanted`, on the
  // tensors' devices. INVALID_ARGUMENT if `of` has several elements or does not depend on one of
  // `wanted`, UNSUPPORTED if an op between them has no gradient.
  std::vector<TensorPtr> gradients(ValueId of, const std::vector<ValueId>& wanted);

 private:
  class Backward;

  ValueId add(const TensorPtr& tensor, Role role);

  std::mutex mutex_;
  Graph graph_;
  std::vector<TensorPtr> tensors_;     // by value
  std::vector<EagerDevice*> devices_;  // by node; they live as long as the context
};

}  // namespace troika
