// What the shape rules of recurrent layers (lstm, gru) share.
#pragma once

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {

// Inputs 0 to 4 of a recurrent layer: x [n, steps, features], weight_ih [gates h, features], weight_hh [gates h, h], bias_ih and
// bias_hh [gates h] or neither.
struct RecurrentSizes {
  int64_t batch, steps, features, hidden;

  // Throws where they do not fit.
  static RecurrentSizes of(const OpInputs& in, int64_t gates) {
    in.need_rank(0, 3, "[batch, steps, features]");
    const Shape &x = in.shape(0), &weight_ih = in.shape(1), &weight_hh = in.shape(2);
    const int64_t hidden = weight_hh.rank() == 2 ? weight_hh[1] : 0;
    if (weight_hh != Shape{gates * hidden, hidden} || hidden < 1)
      in.fail(text("weight_hh has shape ", weight_hh, ", needs [", gates, " hidden, hidden]"));
    if (weight_ih.rank() != 2 || weight_ih[0] != gates * hidden)
      in.fail(text("weight_ih has shape ", weight_ih, ", needs [", gates * hidden, ", features]"));
    if (weight_ih[1] != x[2]) in.fail(text("input has ", x[2], " features, weight_ih expects ", weight_ih[1]));
    if (in.has(3) != in.has(4)) in.fail("has one of its two biases, needs both or none");
    for (size_t i : {size_t{3}, size_t{4}})
      if (in.has(i) && in.shape(i) != Shape{gates * hidden})
        in.fail(text("bias has shape ", in.shape(i), ", needs [", gates * hidden, "]"));
    return {x[0], x[1], x[2], hidden};
  }

  // Of input `i`, a state that the sequence begins with, where it is there.
  void check_state(const OpInputs& in, size_t i) const {
    if (in.has(i) && in.shape(i) != Shape{batch, hidden})
      in.fail(text("initial state has shape ", in.shape(i), ", needs [", batch, ", ", hidden, "]"));
  }

  // Of both products, forward. Backward each has a gradient for either factor.
  double operations(int64_t gates) const {
    return 2.0 * static_cast<double>(batch * steps) * static_cast<double>(gates * hidden) *
           static_cast<double>(features + hidden);
  }
};

// Which gradients a recurrent layer's backward node makes, in this order: of weights (and of both biases) where `weights` (and
// `bias`), of x where `input`, of the initial states where `state`.
inline Attributes recurrent_gradient_attributes(const GradientBuilder& b, const Node& node) {
  bool weights = false, state = false;
  for (size_t i = 1; i <= 4; ++i) weights = weights || b.needs(node.inputs[i]);
  for (size_t i = 5; i < node.inputs.size(); ++i) state = state || b.needs(node.inputs[i]);
  return {{"bias", int64_t{weights && node.inputs[3] != kNoValue}},
          {"input", int64_t{b.needs(node.inputs[0])}},
          {"state", int64_t{state}},
          {"weights", int64_t{weights}}};
}

// The same as kernels read them, and the outputs where they begin: dweight_ih at 0.
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

// ... their types, and, from the outputs of that node, the gradient of each of the layer's inputs.
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

inline Cost recurrent_gradient_cost(const OpInputs& in, int64_t gates) {
  const Shape &x = in.shape(0), &weight_hh = in.shape(2);
  const double forward = RecurrentSizes{x[0], x[1], x[2], weight_hh[1]}.operations(gates);
  return {forward * (in.node.attributes.flag("weights") ? 2 : 1)};
}

}  // namespace troika
