// multiply: a b, number by number (ops/broadcast.h).
#include "ops/broadcast.h"

namespace troika {
namespace {

// The gradient of an operand is dy times the other operand.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<ValueId> gradients(2, kNoValue);
  for (size_t i = 0; i < 2; ++i) {
    if (!b.needs(node.inputs[i])) continue;
    const ValueId product = b.append(multiply_op, node, {dy[0], node.inputs[1 - i]}, broadcast_attributes(node));
    gradients[i] = sum_to(b, node, product, b.type(node.inputs[i]).shape);
  }
  return gradients;
}

}  // namespace

const OpDef multiply_op{.name = "multiply", .infer = infer_pair, .gradient = gradient, .traits = pair_traits()};

}  // namespace troika
