// Inner values of a chain have memory of their own, so only the order of launches counts.
#include "backends/cuda/node_chain.h"

#include "backends/cuda/cuda_device.h"
#include "core/text.h"
#include "device/scratch.h"

namespace troika::cuda {

NodeChain::NodeChain(CudaDevice& device, const Graph& graph, const std::vector<ValueId>& ends) {
  constexpr size_t kAligned = 256;
  ScratchLedger scratch{kAligned};
  std::vector<Place> places(graph.values().size(), Place{Place::absent, 0});
  for (size_t i = 0; i < ends.size(); ++i) places[ends[i]] = {Place::tensor, i};
  const auto place_of = [&](ValueId id) {
    if (id == kNoValue) return Place{Place::absent, 0};
    if (places[id].kind == Place::absent) places[id] = {Place::scratch, scratch.take(graph.type(id).bytes())};
    return places[id];
  };
  size_t most = 0;  // scratch of a kernel
  for (const Node& node : graph.nodes()) {
    KernelChoice choice = device.select({graph, node, std::vector<LayoutPtr>(node.inputs.size())});
    for (const auto* layouts : {&choice.input_layouts, &choice.output_layouts})
      for (const LayoutPtr& layout : *layouts)
        if (layout) throw Error(Status::internal, text(choice.name, " wants ", layout->name(), " in a chain"));
    Step step{std::move(choice.kernel), {}, {}, {}, {}};
    for (const ValueId id : node.inputs) step.inputs.push_back(place_of(id));
    for (const ValueId id : node.outputs) step.outputs.push_back(place_of(id));
    step.input_addresses.resize(step.inputs.size());
    step.output_addresses.resize(step.outputs.size());
    steps_.push_back(std::move(step));
    most = std::max(most, choice.scratch_bytes);
    notes_.insert(notes_.end(), choice.notes.begin(), choice.notes.end());
  }
  own_scratch_ = scratch.bytes();
  scratch_bytes_ = own_scratch_ + most;
}

void NodeChain::launch(void* const* tensors, void* scratch) {
  auto* const memory = static_cast<std::byte*>(scratch);
  const auto address_of = [&](const Place& place) -> void* {
    if (place.kind == Place::tensor) return tensors[place.at];
    return place.kind == Place::scratch ? memory + place.at : nullptr;
  };
  for (Step& step : steps_) {
    std::transform(step.inputs.begin(), step.inputs.end(), step.input_addresses.begin(), address_of);
    std::transform(step.outputs.begin(), step.outputs.end(), step.output_addresses.begin(), address_of);
    step.kernel->bind(step.input_addresses, step.output_addresses, memory + own_scratch_);
    step.kernel->run();
  }
}

}  // namespace troika::cuda
