// sigmoid: y = 1 / (1 + e^-x). Its gradient is computed from the output: dy y (1 - y).
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(sigmoid_gradient_op, node, {node.outputs[0], dy[0]})};
}

}  // namespace

const OpDef sigmoid_op{.name = "sigmoid", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};
const OpDef sigmoid_gradient_op{
    .name = "sigmoid_gradient", .infer = infer_pointwise_gradient, .traits = pointwise_gradient_traits()};

}  // namespace troika
