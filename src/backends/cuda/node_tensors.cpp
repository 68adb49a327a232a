// The places of a node's operands among the tensors of a problem.
#include "backends/cuda/node_tensors.h"

namespace troika::cuda {
namespace {

constexpr size_t kAbsent = ~size_t{0};

}  // namespace

NodeTensors::NodeTensors(const KernelRequest& request) : outputs_(request.node.outputs.size()) {
  for (const ValueId id : request.node.inputs) places_.push_back(id == kNoValue ? kAbsent : first_output_++);
}

std::vector<TensorType> NodeTensors::types(const KernelRequest& request) const {
  std::vector<TensorType> types;
  for (const auto* ids : {&request.node.inputs, &request.node.outputs})
    for (const ValueId id : *ids)
      if (id != kNoValue) types.push_back(request.graph.type(id));
  return types;
}

std::array<void*, NodeTensors::kMost> NodeTensors::of(const Arguments& arguments) const {
  std::array<void*, kMost> tensors = {};
  for (size_t i = 0; i < places_.size(); ++i)
    if (places_[i] != kAbsent) tensors[places_[i]] = arguments.inputs[i];
  std::copy(arguments.outputs.begin(), arguments.outputs.end(),
            tensors.begin() + static_cast<ptrdiff_t>(first_output_));
  return tensors;
}

void NodeTensors::restore(void* const* tensors, Arguments& arguments) const {
  arguments.inputs.resize(places_.size());
  for (size_t i = 0; i < places_.size(); ++i)
    arguments.inputs[i] = places_[i] == kAbsent ? nullptr : tensors[places_[i]];
  arguments.outputs.assign(tensors + first_output_, tensors + first_output_ + outputs_);
  arguments.scratch = tensors[first_output_ + outputs_];
}

}  // namespace troika::cuda
