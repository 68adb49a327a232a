// scale: factor x + offset. Attributes: factor, offset.
#include "ops/pointwise.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(scale_op, node, {dy[0]}, {{"factor", node.attributes.real("factor")}, {"offset", 0.0}})};
}

}  // namespace

const OpDef scale_op{.name = "scale", .infer = infer_pointwise, .gradient = gradient, .traits = pointwise_traits()};

}  // namespace troika
