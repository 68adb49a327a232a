// silu: x s(x), with the sigmoid s. Its gradient is computed from the input:
// dy s(x) (1 + x (1 - s(x))).
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(silu_gradient_op, node, {node.inputs[0], dy[0]})};
}

}  // namespace

const OpDef silu_op{.name = "silu", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};
const OpDef silu_gradient_op{
    .name = "silu_gradient", .infer = infer_pointwise_gradient, .traits = pointwise_gradient_traits()};

}  // namespace troika
