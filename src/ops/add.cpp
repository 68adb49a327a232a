// add: a + b (ops/broadcast.h), with a fused ReLU if both have one shape.
#include "core/text.h"
#include "ops/broadcast.h"

namespace troika {
namespace {

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId dz = b.through_relu(node, node.outputs[0], dy[0]);
  if (!node.attributes.flag("broadcast")) return {dz, dz};
  std::vector<ValueId> gradients(2, kNoValue);
  for (size_t i = 0; i < 2; ++i)
    if (b.needs(node.inputs[i])) gradients[i] = sum_to(b, node, dz, b.type(node.inputs[i]).shape);
  return gradients;
}

}  // namespace

const OpDef add_op{.name = "add",
                   .infer = infer_pair,
                   .gradient = gradient,
                   .traits = LayerOp{.channels = pair_rule,
                                     .reach = Reach::whole,
                                     .fuses_relu = true,
                                     .inference = InferenceForm{},
                                     .low = LowPrecision{true},
                                     .has_product = false}};

}  // namespace troika
