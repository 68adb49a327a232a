// Choosing an op's kernel as lowering does, for plain tensors on both sides.
#include "eager/compiled_op.h"

#include <algorithm>

namespace troika {

CompiledOp::CompiledOp(Device& device, const OpCall& call) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    inputs.push_back(call.has_input[i] ? graph.add_value("", call.inputs[i], Role::input) : kNoValue);
  append_node(graph, *call.op, "", inputs, call.attributes);
  const Node& node = graph.nodes().front();
  for (const ValueId id : node.outputs) outputs_.push_back(graph.type(id));

  KernelChoice choice = device.select({graph, node, std::vector<LayoutPtr>(inputs.size())});
  kernel_ = std::move(choice.kernel);
  add_copies(device, call.inputs, choice.input_layouts, true, input_copies_);
  add_copies(device, outputs_, choice.output_layouts, false, output_copies_);
  kernel_scratch_ = scratch_.take(choice.scratch_bytes);
  may_share_first_ = input_copies_.empty() && output_copies_.empty() &&
                     std::count(choice.may_share.begin(), choice.may_share.end(), std::pair(0, 0)) != 0;
}

void CompiledOp::add_copies(Device& device, const std::vector<TensorType>& types, const std::vector<LayoutPtr>& layouts,
                            bool are_inputs, std::vector<Copy>& copies) {
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (!layouts[i]) continue;
    KernelChoice reorder = are_inputs ? device.select_reorder(types[i], nullptr, layouts[i])
                                      : device.select_reorder(types[i], layouts[i], nullptr);
    const size_t offset = scratch_.take(layouts[i]->bytes());
    copies.push_back({i, offset, scratch_.take(reorder.scratch_bytes), std::move(reorder.kernel)});
  }
}

void CompiledOp::run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, std::byte* scratch) {
  bound_inputs_ = inputs;
  bound_outputs_ = outputs;
  for (const Copy& copy : input_copies_) {
    void *const from[] = {inputs[copy.operand]}, *const to[] = {scratch + copy.offset};
    copy.reorder->bind(from, to, scratch + copy.scratch_offset);
    copy.reorder->run();
    bound_inputs_[copy.operand] = to[0];
  }
  for (const Copy& copy : output_copies_) bound_outputs_[copy.operand] = scratch + copy.offset;
  kernel_->bind(bound_inputs_, bound_outputs_, scratch + kernel_scratch_);
  kernel_->run();
  for (const Copy& copy : output_copies_) {
    void *const from[] = {scratch + copy.offset}, *const to[] = {outputs[copy.operand]};
    copy.reorder->bind(from, to, scratch + copy.scratch_offset);
    copy.reorder->run();
  }
}

}  // namespace troika
