// lstm: some steps of a long short-term memory (Hochreiter and Schmidhuber 1997, with the forget
// gate of Gers et al. 2000), as PyTorch computes it:
//   i, f, o = sigmoid(W_ih x + b_ih + W_hh h + b_hh), g = tanh(of the same)
//   c = f c + i g, h = o tanh(c)
#include "ops/recurrent.h"

namespace troika {
namespace {

constexpr int64_t kGates = 4;  // i, f, g, o: rows of the weights in this order

// Inputs: x [n, t, features]; weight_ih; weight_hh; bias_ih and bias_hh, or neither; h and c [n,
// hidden], with which the steps begin, or none: zeros. Outputs: y [n, t, hidden], which is every h;
// the last h and c [n, hidden]; for the backward pass, the gates [n, t, 4 hidden] and every c [n,
// t, hidden].
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(7, 7);
  const auto sizes = RecurrentSizes::of(in, kGates);
  for (size_t i : {size_t{5}, size_t{6}}) sizes.check_state(in, i);
  const auto [n, t, features, hidden, rows] = sizes;
  return {{DType::f32, {n, t, hidden}},
          {DType::f32, {n, hidden}},
          {DType::f32, {n, hidden}},
          {DType::f32, {n, t, rows}},
          {DType::f32, {n, t, hidden}}};
}

Cost cost(const OpInputs& in) { return {RecurrentSizes::of(in, kGates).operations()}; }

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const Attributes made = recurrent_gradient_attributes(b, node);
  const auto d = b.append_all(lstm_gradient_op, node,
                              {node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[5], node.inputs[6],
                               node.outputs[0], node.outputs[3], node.outputs[4], dy[0], dy[1], dy[2]},
                              made);
  return recurrent_gradients(node, made, d);
}

// Inputs: x, weight_ih, weight_hh, initial h and c or none, y, gates, every c, dy, dh and dc or
// none (zeros).
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(11, 11);
  return recurrent_gradient_types(in, 2);
}

}  // namespace

const OpDef lstm_op{.name = "lstm",
                    .infer = infer,
                    .gradient = gradient,
                    .cost = cost,
                    .kept_outputs = {1, 2},
                    .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                      .reach = Reach::whole,
                                      .fuses_relu = false,
                                      .inference = InferenceForm{},
                                      .low = LowPrecision{},
                                      .has_product = true,
                                      .is_recurrent = true}};
const OpDef lstm_gradient_op{.name = "lstm_gradient",
                             .infer = infer_gradient,
                             .cost = recurrent_gradient_cost,
                             .traits = GradientOp{.is_of_weights = false, .has_product = true}};

}  // namespace troika
