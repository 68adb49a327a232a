// softmax: e^x over the sum of e^x along one axis. Its gradient is computed from the output: y (dy
// - the sum of y dy along the axis). Attribute: axis.
#include "core/text.h"
#include "ops/axis_rows.h"
#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  check_axis(in);
  return {in.types[0]};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(softmax_gradient_op, node, {node.outputs[0], dy[0]}, node.attributes)};
}

// Inputs: y, dy.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  check_axis(in);
  return {in.types[1]};
}

}  // namespace

const OpDef softmax_op{.name = "softmax",
                       .infer = infer,
                       .gradient = gradient,
                       .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                         .reach = Reach::whole,
                                         .fuses_relu = false,
                                         .inference = InferenceForm{},
                                         .low = LowPrecision{true},
                                         .has_product = false}};
const OpDef softmax_gradient_op{.name = "softmax_gradient",
                                .infer = infer_gradient,
                                .traits = GradientOp{.is_of_weights = false, .has_product = false}};

}  // namespace troika
