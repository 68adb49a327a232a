// divide: y = a / b, number by number (ops/broadcast.h).
#include "ops/broadcast.h"

namespace troika {
namespace {

// da = dy / b, and db = -y dy / b.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<ValueId> gradients(2, kNoValue);
  const ValueId quotient = b.append(divide_op, node, {dy[0], node.inputs[1]}, broadcast_attributes(node));
  if (b.needs(node.inputs[0])) gradients[0] = sum_to(b, node, quotient, b.type(node.inputs[0]).shape);
  if (b.needs(node.inputs[1])) {
    const ValueId product = b.append(multiply_op, node, {quotient, node.outputs[0]});
    const ValueId sum = sum_to(b, node, product, b.type(node.inputs[1]).shape);
    gradients[1] = b.append(scale_op, node, {sum}, {{"factor", -1.0}, {"offset", 0.0}});
  }
  return gradients;
}

}  // namespace

const OpDef divide_op{.name = "divide", .infer = infer_pair, .gradient = gradient, .traits = pair_traits()};

}  // namespace troika
