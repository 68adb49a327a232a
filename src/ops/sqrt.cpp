// sqrt: the square root y of x. Its gradient is dy / (2 y).
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId twice = b.append(scale_op, node, {node.outputs[0]}, {{"factor", 2.0}, {"offset", 0.0}});
  return {b.append(divide_op, node, {dy[0], twice})};
}

}  // namespace

const OpDef sqrt_op{.name = "sqrt", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};

}  // namespace troika
