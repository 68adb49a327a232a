// subtract: a - b (ops/broadcast.h).
#include "ops/broadcast.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<ValueId> gradients(2, kNoValue);
  if (b.needs(node.inputs[0])) gradients[0] = sum_to(b, node, dy[0], b.type(node.inputs[0]).shape);
  if (b.needs(node.inputs[1])) {
    const ValueId sum = sum_to(b, node, dy[0], b.type(node.inputs[1]).shape);
    gradients[1] = b.append(scale_op, node, {sum}, {{"factor", -1.0}, {"offset", 0.0}});
  }
  return gradients;
}

}  // namespace

const OpDef subtract_op{.name = "subtract", .infer = infer_pair, .gradient = gradient, .traits = pair_traits()};

}  // namespace troika
