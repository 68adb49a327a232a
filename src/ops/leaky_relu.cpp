// leaky_relu: x if x > 0, else slope x. Its gradient is computed from the input: dy, or slope dy.
// Attribute: slope.
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(leaky_relu_gradient_op, node, {node.inputs[0], dy[0]}, node.attributes)};
}

}  // namespace

const OpDef leaky_relu_op{
    .name = "leaky_relu", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};
const OpDef leaky_relu_gradient_op{
    .name = "leaky_relu_gradient", .infer = infer_pointwise_gradient, .traits = pointwise_gradient_traits()};

}  // namespace troika
