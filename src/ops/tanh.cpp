// tanh: y = tanh(x). Its gradient is computed from the output: dy (1 - y^2).
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(tanh_gradient_op, node, {node.outputs[0], dy[0]})};
}

}  // namespace

const OpDef tanh_op{.name = "tanh", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};
const OpDef tanh_gradient_op{
    .name = "tanh_gradient", .infer = infer_pointwise_gradient, .traits = pointwise_gradient_traits()};

}  // namespace troika
