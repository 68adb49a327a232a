// label_losses: the loss of each label, as cross_entropy sums them up.
#include "core/text.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x, labels (cross_entropy.cpp). Outputs: the losses, f32, of the labels' shape; the
// probabilities, of x's shape. Attributes: those of LabelSettings. An ignored label has the loss 0.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  const Shape& x = in.shape(loss::x);
  if (x.rank() < 2 || x.rank() > 4)
    in.fail(text("input has shape ", x, ", needs [batch, classes], [batch, steps, classes] or [batch, classes, h, w]"));
  const TensorType need{DType::i32, labels_shape(x)};
  if (in.types[loss::target] != need)
    in.fail(
        text("labels are ", name_of(in.types[loss::target].dtype), in.shape(loss::target), ", needs i32", need.shape));
  return {{DType::f32, need.shape}, in.types[loss::x]};
}

//     dx = dlosses (softmax(x) - (1 - s) onehot(label) - s / classes)
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {
      b.append(label_losses_gradient_op, node, {node.outputs[1], node.inputs[loss::target], dy[0]}, node.attributes),
      kNoValue};
}

// Inputs: probabilities, labels, the gradients of the losses.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(3, 3);
  return {in.types[0]};
}

}  // namespace

const OpDef label_losses_op{.name = "label_losses",
                            .infer = infer,
                            .gradient = gradient,
                            .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                              .reach = Reach::whole,
                                              .fuses_relu = false,
                                              .inference = InferenceForm{},
                                              .low = LowPrecision{},
                                              .has_product = false}};
const OpDef label_losses_gradient_op{.name = "label_losses_gradient",
                                     .infer = infer_gradient,
                                     .traits = GradientOp{.is_of_weights = false, .has_product = false}};

}  // namespace troika
