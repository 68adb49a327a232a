// exp: y = e^x. Its gradient is dy y.
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(multiply_op, node, {dy[0], node.outputs[0]})};
}

}  // namespace

const OpDef exp_op{.name = "exp", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};

}  // namespace troika
