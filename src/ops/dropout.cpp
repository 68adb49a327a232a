// dropout: x / (1 - p) if a counter-based coin says keep, else 0 (Srivastava et al. 2014). Its
// gradient is the same op.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x [n, ...], counter i64 [2] = {seed, step}. Attributes: probability; layer, a key of the
// layer's own; sample_offset, the place of sample 0 in the whole batch. The coin of an element
// depends on seed, step, layer, its sample's place in the whole batch and its place in the sample.
// So any number of devices draws the same mask, and the backward pass draws it again.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  const double p = in.node.attributes.real("probability");
  if (!(p >= 0 && p < 1)) in.fail(text("probability is ", p, ", needs at least 0 and below 1"));
  if (in.types[1] != TensorType{DType::i64, {2}})
    in.fail(text("counter is ", name_of(in.types[1].dtype), in.shape(1), ", needs i64[2]"));
  return {in.types[0]};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(dropout_op, node, {dy[0], node.inputs[1]}, node.attributes), kNoValue};
}

}  // namespace

const OpDef dropout_op{.name = "dropout",
                       .infer = infer,
                       .gradient = gradient,
                       .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                         .reach = Reach::whole,
                                         .fuses_relu = false,
                                         .inference = InferenceForm{InferenceForm::pass_input_on},
                                         .low = LowPrecision{true},
                                         .has_product = false}};

}  // namespace troika
