// Operands and sizes of recurrent layers (lstm, gru), which their shape rules and kernels share.
#pragma once

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {

// Operands of lstm and gru. Positions depend on the number of states: h (gru), or h and c (lstm).
namespace recurrent {
enum Input : size_t { x, weight_ih, weight_hh, bias_ih, bias_hh, first_states };
enum Output : size_t { y, last_states };
constexpr size_t gates(size_t states) { return last_states + states; }
constexpr size_t every_c(size_t states) { return gates(states) + 1; }  // if there is a c
}  // namespace recurrent

// Inputs of lstm_gradient and gru_gradient. Their outputs: see RecurrentGradients.
namespace recurrent_gradient {
enum Input : size_t { x, weight_ih, weight_hh, first_states };
constexpr size_t y(size_t states) { return first_states + states; }
constexpr size_t gates(size_t states) { return y(states) + 1; }
constexpr size_t every_c(size_t states) { return gates(states) + 1; }  // if there is a c
constexpr size_t dy(size_t states) { return gates(states) + states; }
constexpr size_t dlast_states(size_t states) { return dy(states) + 1; }
}  // namespace recurrent_gradient

// Sizes of x [batch, steps, features], weight_ih [rows, features] and weight_hh [rows, hidden].
// rows = gates * hidden.
struct RecurrentSizes {
  int64_t batch, steps, features, hidden, rows;

  // Returns a layer's sizes. Throws if its inputs do not fit: both biases are [rows], or both are
  // absent.
  static RecurrentSizes of(const OpInputs& in, int64_t gates) {
    using recurrent::bias_hh, recurrent::bias_ih;
    in.need_rank(recurrent::x, 3, "[batch, steps, features]");
    const Shape &x = in.shape(recurrent::x), &weight_ih = in.shape(recurrent::weight_ih),
                &weight_hh = in.shape(recurrent::weight_hh);
    const int64_t hidden = weight_hh.rank() == 2 ? weight_hh[1] : 0;
    if (hidden < 1 || weight_hh[0] / gates != hidden || weight_hh[0] % gates != 0)
      in.fail(text("weight_hh has shape ", weight_hh, ", needs [", gates, " hidden, hidden]"));
    if (weight_ih.rank() != 2 || weight_ih[0] != gates * hidden)
      in.fail(text("weight_ih has shape ", weight_ih, ", needs [", gates * hidden, ", features]"));
    if (weight_ih[1] != x[2]) in.fail(text("input has ", x[2], " features, weight_ih expects ", weight_ih[1]));
    if (in.has(bias_ih) != in.has(bias_hh)) in.fail("has one of its two biases, needs both or none");
    for (size_t i : {bias_ih, bias_hh})
      if (in.has(i) && in.shape(i) != Shape{gates * hidden})
        in.fail(text("bias has shape ", in.shape(i), ", needs [", gates * hidden, "]"));
    return of(x, weight_hh);
  }

  // Returns the sizes of a layer that was checked before, or of its gradient.
  static RecurrentSizes of(const Shape& x, const Shape& weight_hh) {
    return {x[0], x[1], x[2], weight_hh[1], weight_hh[0]};
  }
  static RecurrentSizes of(const Graph& graph, const Node& node) {
    return of(graph.type(node.inputs[recurrent::x]).shape, graph.type(node.inputs[recurrent::weight_hh]).shape);
  }

  // Throws if input `i` is present but is not a state with which a sequence can begin.
  void check_state(const OpInputs& in, size_t i) const {
    if (in.has(i) && in.shape(i) != Shape{batch, hidden})
      in.fail(text("initial state has shape ", in.shape(i), ", needs [", batch, ", ", hidden, "]"));
  }

  // Operations of both products, forward. The backward pass computes a gradient of both factors of
  // each.
  double operations() const {
    return 2.0 * static_cast<double>(batch * steps) * static_cast<double>(rows) *
           static_cast<double>(features + hidden);
  }
};

// Returns which gradients a recurrent layer's backward node computes, in this order: of weights
// (and of both biases) if `weights` (and `bias`), of x if `input`, of the initial states if
// `state`.
inline Attributes recurrent_gradient_attributes(const GradientBuilder& b, const Node& node) {
  bool weights = false, state = false;
  for (size_t i = 1; i <= 4; ++i) weights = weights || b.needs(node.inputs[i]);
  for (size_t i = 5; i < node.inputs.size(); ++i) state = state || b.needs(node.inputs[i]);
  return {{"bias", int64_t{weights && node.inputs[3] != kNoValue}},
          {"input", int64_t{b.needs(node.inputs[0])}},
          {"state", int64_t{state}},
          {"weights", int64_t{weights}}};
}

// The same, as kernels read them, and the first output of each kind: dweight_ih is output 0.
struct RecurrentGradients {
  const bool weights, bias, input, state;
  const size_t biases_at = 2, input_at, states_at;

  explicit RecurrentGradients(const Attributes& made)
      : weights(made.flag("weights")),
        bias(made.flag("bias")),
        input(made.flag("input")),
        state(made.flag("state")),
        input_at((weights ? 2 : 0) + (bias ? 2 : 0)),
        states_at(input_at + (input ? 1 : 0)) {}
};

// Returns their types.
inline std::vector<TensorType> recurrent_gradient_types(const OpInputs& in, size_t states) {
  const Attributes& made = in.node.attributes;
  const TensorType &x = in.types[0], &weight_ih = in.types[1], &weight_hh = in.types[2];
  std::vector<TensorType> types;
  if (made.flag("weights")) types = {weight_ih, weight_hh};
  if (made.flag("bias")) types.insert(types.end(), 2, {DType::f32, {weight_hh.shape[0]}});
  if (made.flag("input")) types.push_back(x);
  if (made.flag("state")) types.insert(types.end(), states, {DType::f32, {x.shape[0], weight_hh.shape[1]}});
  return types;
}

inline std::vector<ValueId> recurrent_gradients(const Node& node, const Attributes& made,
                                                const std::vector<ValueId>& d) {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  size_t next = 0;
  if (made.flag("weights"))
    for (size_t i : {size_t{1}, size_t{2}}) gradients[i] = d[next++];
  if (made.flag("bias"))
    for (size_t i : {size_t{3}, size_t{4}}) gradients[i] = d[next++];
  if (made.flag("input")) gradients[0] = d[next++];
  if (made.flag("state"))
    for (size_t i = 5; i < node.inputs.size(); ++i) gradients[i] = d[next++];
  return gradients;
}

inline Cost recurrent_gradient_cost(const OpInputs& in) {
  const double forward = RecurrentSizes::of(in.shape(recurrent::x), in.shape(recurrent::weight_hh)).operations();
  return {forward * (in.node.attributes.flag("weights") ? 2 : 1)};
}

}  // namespace troika
