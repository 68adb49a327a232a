// The definition of an op: data and pure functions, with no device code. One OpDef per op, one file
// per op, listed in ops.def.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/op_traits.h"

namespace troika {

// The inputs of a shape rule: the node's attributes and the types of its inputs. An absent input
// has rank 0 and is not present.
struct OpInputs {
  const Node& node;
  std::vector<TensorType> types;

  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  const Shape& shape(size_t i) const { return types[i].shape; }
  // Throws INVALID_ARGUMENT "conv2d 'stem': <message>".
  [[noreturn]] void fail(const std::string& message) const;
  void need_inputs(size_t least, size_t most) const;
  void need_rank(size_t i, int rank, const char* what) const;
};

struct Cost {
  // floating-point operations, the only number that an op's rule returns; the rest follows from
  // types
  double operations = 0;
  double bytes = 0;        // of activations, read and written; they grow with the batch, like operations
  double state_bytes = 0;  // of state, read and written
};

// Appends nodes of the backward pass (passes/autodiff.cpp).
class GradientBuilder;

struct OpDef {
  std::string_view name;

  // Returns the types of the outputs.
  std::vector<TensorType> (*infer)(const OpInputs&) = nullptr;

  // Appends the backward nodes of `node` and returns a gradient for each input (kNoValue: none).
  // `output_gradients` has one entry per output: kNoValue if nothing depends on the output. Null:
  // the op has no gradient.
  std::vector<ValueId> (*gradient)(GradientBuilder&, const Node& node,
                                   const std::vector<ValueId>& output_gradients) = nullptr;

  Cost (*cost)(const OpInputs&) = nullptr;  // null: one operation per element of the outputs

  // Inputs that the op changes in place. They are state, and such a node is never dead.
  std::vector<int> mutates = {};

  // Recompute may run the node a second time with the inputs of `mutates` absent: the state changes
  // once.
  bool repeats_without_state = false;

  // Outputs that recompute always keeps: they are small, and the other outputs are computed from
  // them.
  std::vector<int> kept_outputs = {};

  // The op only shows its input's elements under another shape: it is a view, without a kernel.
  bool is_view = false;

  // The op's part in a step. There is no default: the compiler asks for the traits of every op.
  OpTraits traits;

  template <typename Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&traits);
  }
  bool communicates() const { return as<CollectiveOp>() != nullptr; }  // has no kernel, and is never dead
  bool has_product() const;
  const LowPrecision& low() const;
};

// Every op, under its name with `_op` appended: conv2d_op.
#define TROIKA_OP(name) extern const OpDef name##_op;
#include "ops/ops.def"
#undef TROIKA_OP

const OpDef& op_named(std::string_view name);  // throws INTERNAL if there is no such op
const std::vector<const OpDef*>& all_ops();

// Appends a node. The types of its outputs follow from the op's shape rule. Throws INVALID_ARGUMENT
// if inputs do not fit.
std::vector<ValueId> append_node(Graph& graph, const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                                 Attributes attributes = {});

// Returns the types of a node's outputs by its op's shape rule.
std::vector<TensorType> infer_types(const Graph& graph, const Node& node);

// Returns operations and traffic of a node.
Cost cost_of(const Graph& graph, const Node& node);

// Runs verify_structure, and checks every output's type against its op's shape rule.
void verify(const Graph& graph);

class GradientBuilder {
 public:
  explicit GradientBuilder(Graph& graph) : graph_(graph) {}
  const Graph& graph() const { return graph_; }
  // A copy: append() moves the values of the graph, and a rule may keep the type across it.
  TensorType type(ValueId id) const { return graph_.type(id); }

  // Whether anything needs the gradient of `value`. Nodes for gradients that nothing needs are not
  // appended.
  bool needs(ValueId value) const { return value != kNoValue && value < needs_.size() && needs_[value]; }
  void set_needs(std::vector<bool> needs) { needs_ = std::move(needs); }

  ValueId append(const OpDef& op, const Node& forward, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return append_all(op, forward, std::move(inputs), std::move(attributes))[0];
  }
  std::vector<ValueId> append_all(const OpDef& op, const Node& forward, std::vector<ValueId> inputs,
                                  Attributes attributes = {}) {
    return append_node(graph_, op, forward.name, std::move(inputs), std::move(attributes));
  }

  // Returns the gradient before a fused ReLU: dy if y > 0, else 0.
  ValueId through_relu(const Node& forward, ValueId y, ValueId dy) {
    return forward.attributes.flag("relu") ? append(relu_gradient_op, forward, {y, dy}) : dy;
  }

 private:
  Graph& graph_;
  std::vector<bool> needs_;
};

}  // namespace troika
