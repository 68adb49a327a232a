// abs: |x|. Its gradient is computed from the input: dy times the sign of x, which is 0 at 0.
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(abs_gradient_op, node, {node.inputs[0], dy[0]})};
}

}  // namespace

const OpDef abs_op{.name = "abs", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};
const OpDef abs_gradient_op{
    .name = "abs_gradient", .infer = infer_pointwise_gradient, .traits = pointwise_gradient_traits()};

}  // namespace troika
