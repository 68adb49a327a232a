// log: the natural logarithm of x. Its gradient is dy / x.
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(divide_op, node, {dy[0], node.inputs[0]})};
}

}  // namespace

const OpDef log_op{.name = "log", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};

}  // namespace troika
