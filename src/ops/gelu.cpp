// gelu: x Phi(x), with the distribution function Phi of the standard normal distribution. Its
// gradient is computed from the input: dy (Phi(x) + x phi(x)), with the density phi.
#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {in.types[0]};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(gelu_gradient_op, node, {node.inputs[0], dy[0]})};
}

// Inputs: x, dy.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return {in.types[1]};
}

}  // namespace

const OpDef gelu_op{.name = "gelu",
                    .infer = infer,
                    .gradient = gradient,
                    .traits = LayerOp{.channels = always<ChannelRule::pass_on>,
                                      .reach = Reach::pixel,
                                      .fuses_relu = false,
                                      .inference = InferenceForm{},
                                      .low = LowPrecision{true},
                                      .has_product = false}};
const OpDef gelu_gradient_op{.name = "gelu_gradient",
                             .infer = infer_gradient,
                             .traits = GradientOp{.is_of_weights = false, .has_product = false}};

}  // namespace troika
