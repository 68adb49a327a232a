// Recording, and the backward walk: each op's gradient rule appends nodes, which run at once.
#include "eager/tape.h"

#include "core/text.h"

namespace troika {

ValueId Tape::add(const TensorPtr& tensor, Role role) {
  tensors_.push_back(tensor);
  try {
    return graph_.add_value("", tensor->type(), role);
  } catch (...) {
    tensors_.pop_back();
    throw;
  }
}

ValueId Tape::watch(const TensorPtr& tensor) {
  const std::lock_guard lock(mutex_);
  return add(tensor, Role::input);
}

std::vector<TensorPtr> Tape::run(EagerDevice& device, const OpDef& op, const std::vector<TensorPtr>& inputs,
                                 std::vector<ValueId> ids, Attributes attributes, ValueId& first) {
  std::vector<TensorPtr> outputs = device.run(op, inputs, attributes);
  const std::lock_guard lock(mutex_);
  const size_t values = graph_.values().size(), nodes = graph_.nodes().size();
  try {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] && ids[i] == kNoValue) ids[i] = add(inputs[i], Role::input);
    devices_.push_back(&device);
    first = append_node(graph_, op, "", std::move(ids), std::move(attributes))[0];
    tensors_.insert(tensors_.end(), outputs.begin(), outputs.end());
  } catch (...) {  // the record stays as it was
    graph_.truncate(values, nodes);
    tensors_.resize(values);
    devices_.resize(nodes);
    throw;
  }
  return outputs;
}

// One walk from a number to the tensors whose gradients are wanted. Appended values and nodes are
// the walk's own.
class Tape::Backward {
 public:
  Backward(Tape& tape, ValueId of, const std::vector<ValueId>& wanted)
      : graph_(tape.graph_),
        tensors_(tape.tensors_),
        devices_(tape.devices_),
        builder_(graph_),
        of_(of),
        forward_nodes_(graph_.nodes().size()) {
    needs_.resize(graph_.values().size(), false);
    for (const ValueId id : wanted) needs_[id] = true;
    is_wanted_ = needs_;
    for (const Node& node : graph_.nodes()) {
      bool any = false;
      for (const ValueId id : node.inputs) any = any || (id != kNoValue && needs_[id]);
      if (any)
        for (const ValueId id : node.outputs) needs_[id] = true;
    }
    builder_.set_needs(needs_);
    gradient_.resize(graph_.values().size(), kNoValue);
  }

  void walk() {
    if (forward_nodes_ == 0 || !needs_[of_]) return;
    set_gradient(of_, begin());
    for (size_t i = forward_nodes_; i-- > 0;) {
      const Node node = graph_.nodes()[i];  // a copy: appending moves the nodes
      std::vector<ValueId> output_gradients;
      bool is_reached = false;
      for (const ValueId id : node.outputs) {
        output_gradients.push_back(gradient_[id]);
        is_reached = is_reached || gradient_[id] != kNoValue;
      }
      if (!is_reached || !needs_[node.outputs[0]]) continue;
      go_back(node, *devices_[i], output_gradients);
    }
  }

  // Null: nothing depends on it.
  TensorPtr gradient(ValueId id) const { return gradient_[id] == kNoValue ? nullptr : tensors_[gradient_[id]]; }

 private:
  // The device of the op that made the number.
  EagerDevice& last_device() const {
    for (size_t i = forward_nodes_; i-- > 0;)
      for (const ValueId id : graph_.nodes()[i].outputs)
        if (id == of_) return *devices_[i];
    throw Error(Status::invalid_argument, "gradients: no operation made the number");
  }

  ValueId begin() {
    const TensorType type = graph_.type(of_);
    EagerDevice& device = last_device();
    ValueId one = append_node(graph_, fill_op, "", {}, {{"shape", type.shape.dims()}, {"value", 1.0}})[0];
    if (type.dtype != DType::f32)
      one = append_node(graph_, cast_op, "", {one}, {{"dtype", static_cast<int64_t>(type.dtype)}})[0];
    run_appended(device);
    return one;
  }

  void go_back(const Node& node, EagerDevice& device, const std::vector<ValueId>& output_gradients) {
    if (!node.op->gradient) throw Error(Status::unsupported, text(node.op, ": the op has no gradient"));
    const std::vector<ValueId> found = node.op->gradient(builder_, node, output_gradients);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId input = node.inputs[k];
      if (input == kNoValue || found[k] == kNoValue || !needs_[input]) continue;
      set_gradient(input, gradient_[input] == kNoValue
                              ? found[k]
                              : append_node(graph_, add_op, "", {gradient_[input], found[k]})[0]);
    }
    run_appended(device);
    for (const ValueId id : node.outputs)
      if (!is_wanted_[id]) set_gradient(id, kNoValue);
    release_unused();
  }

  void set_gradient(ValueId value, ValueId gradient) {
    uses_.resize(graph_.values().size(), 0);
    if (gradient_[value] != kNoValue) --uses_[gradient_[value]];
    if (gradient != kNoValue) ++uses_[gradient];
    gradient_[value] = gradient;
  }

  // Frees what was computed on the way and is no gradient any more.
  void release_unused() {
    uses_.resize(graph_.values().size(), 0);
    size_t kept = 0;
    for (const ValueId id : held_)
      if (uses_[id] > 0)
        held_[kept++] = id;
      else
        tensors_[id].reset();
    held_.resize(kept);
  }

  void run_appended(EagerDevice& device) {
    for (; next_node_ < graph_.nodes().size(); ++next_node_) {
      const Node& node = graph_.nodes()[next_node_];
      std::vector<TensorPtr> inputs;
      for (const ValueId id : node.inputs) inputs.push_back(id == kNoValue ? nullptr : tensors_[id]);
      const std::vector<TensorPtr> outputs = device.run(*node.op, inputs, node.attributes);
      tensors_.resize(graph_.values().size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        tensors_[node.outputs[i]] = outputs[i];
        held_.push_back(node.outputs[i]);
      }
    }
  }

  Graph graph_;
  std::vector<TensorPtr> tensors_;
  std::vector<EagerDevice*> devices_;
  GradientBuilder builder_;
  const ValueId of_;
  const size_t forward_nodes_;
  size_t next_node_ = forward_nodes_;
  std::vector<bool> needs_, is_wanted_;  // by value of the tape
  std::vector<ValueId> gradient_;        // the same
  std::vector<int> uses_;                // as a gradient, by value
  std::vector<ValueId> held_;            // appended values whose tensors are held
};

std::vector<TensorPtr> Tape::gradients(ValueId of, const std::vector<ValueId>& wanted) {
  const std::lock_guard lock(mutex_);
  if (const Shape& shape = graph_.type(of).shape; shape.elements() != 1)
    throw Error(Status::invalid_argument, text("gradients: the tensor has shape ", shape, ", need one number"));
  Backward backward(*this, of, wanted);
  backward.walk();
  std::vector<TensorPtr> gradients;
  for (size_t i = 0; i < wanted.size(); ++i) {
    gradients.push_back(backward.gradient(wanted[i]));
    if (!gradients.back())
      throw Error(Status::invalid_argument,
                  text("gradients: the number does not depend on tensor ", i, " of the list"));
  }
  return gradients;
}

}  // namespace troika
