// add: a + b of one shape, with a fused ReLU.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  if (in.shape(0) != in.shape(1))
    in.fail(text("inputs have shapes ", in.shape(0), " and ", in.shape(1), ", need the same"));
  if (in.types[0] != in.types[1])
    in.fail(text("inputs are ", name_of(in.types[0].dtype), " and ", name_of(in.types[1].dtype), ", need the same"));
  return {in.types[0]};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId dz = b.through_relu(node, node.outputs[0], dy[0]);
  return {dz, dz};
}

}  // namespace

const OpDef add_op{.name = "add",
                   .infer = infer,
                   .gradient = gradient,
                   .traits = LayerOp{.channels = always<ChannelRule::add>,
                                     .reach = Reach::whole,
                                     .fuses_relu = true,
                                     .inference = InferenceForm{},
                                     .low = LowPrecision{true},
                                     .has_product = false}};

}  // namespace troika
