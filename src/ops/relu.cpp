// relu: max(x, 0). Its gradient is computed from the output: dy if y > 0, else 0.
#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {in.types[0]};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(relu_gradient_op, node, {node.outputs[0], dy[0]})};
}

// Inputs: y, dy.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return {in.types[1]};
}

}  // namespace

const OpDef relu_op{.name = "relu",
                    .infer = infer,
                    .gradient = gradient,
                    .traits = LayerOp{.channels = always<ChannelRule::pass_on>,
                                      .reach = Reach::pixel,
                                      .fuses_relu = false,
                                      .inference = InferenceForm{},
                                      .low = LowPrecision{true},
                                      .has_product = false}};
const OpDef relu_gradient_op{.name = "relu_gradient",
                             .infer = infer_gradient,
                             .traits = GradientOp{.is_of_weights = false, .has_product = false}};

}  // namespace troika
