// gru: some steps of a gated recurrent unit (Cho et al. 2014), as PyTorch computes it:
//   r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh), n = tanh(W_in x + b_in + r (W_hn h + b_hn))
//   h = (1 - z) n + z h
#include "ops/recurrent.h"

namespace troika {
namespace {

constexpr int64_t kGates = 3;  // r, z, n: rows of the weights in this order

// Inputs: x [n, t, features]; weight_ih; weight_hh; bias_ih and bias_hh, or neither; h [n, hidden],
// with which the steps begin, or none: zeros. Outputs: y [n, t, hidden], which is every h; the last
// h [n, hidden]; and, for the backward pass, the gates and W_hn h + b_hn [n, t, 4 hidden].
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(6, 6);
  const auto sizes = RecurrentSizes::of(in, kGates);
  sizes.check_state(in, 5);
  const auto [n, t, features, hidden, rows] = sizes;
  return {{DType::f32, {n, t, hidden}}, {DType::f32, {n, hidden}}, {DType::f32, {n, t, (kGates + 1) * hidden}}};
}

Cost cost(const OpInputs& in) { return {RecurrentSizes::of(in, kGates).operations()}; }

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const Attributes made = recurrent_gradient_attributes(b, node);
  const auto d = b.append_all(
      gru_gradient_op, node,
      {node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[5], node.outputs[0], node.outputs[2], dy[0], dy[1]},
      made);
  return recurrent_gradients(node, made, d);
}

// Inputs: x, weight_ih, weight_hh, initial h or none, y, gates; dy, dh or none: zeros.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(8, 8);
  return recurrent_gradient_types(in, 1);
}

}  // namespace

const OpDef gru_op{.name = "gru",
                   .infer = infer,
                   .gradient = gradient,
                   .cost = cost,
                   .kept_outputs = {1},
                   .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                     .reach = Reach::whole,
                                     .fuses_relu = false,
                                     .inference = InferenceForm{},
                                     .low = LowPrecision{},
                                     .has_product = true,
                                     .is_recurrent = true}};
const OpDef gru_gradient_op{.name = "gru_gradient",
                            .infer = infer_gradient,
                            .cost = recurrent_gradient_cost,
                            .traits = GradientOp{.is_of_weights = false, .has_product = true}};

}  // namespace troika
