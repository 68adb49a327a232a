// cross_entropy: the sum over labels of -log softmax(x)[label], for x [n, classes], [n, steps,
// classes] or [n, classes, h, w] and labels i32 of that shape without its classes.
#include "core/text.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x; labels; a loss scale f32 [2] or none; the weight of a label f32 [1] or none; weights
// f32 of the labels' shape, or none. The gradient is multiplied by the scale's first number and by
// the weight of a label. A label's loss and gradient are multiplied by its own weight. Outputs:
// loss f64 [1], a sum, so that shards can be added; correct i64 [1], the number of labels whose
// output is the largest (of equal outputs the first counts); probabilities, of x's shape.
// Attributes: those of LabelSettings. With smoothing s, a label's loss is (1 - s) times its own
// -log softmax plus s times the mean of -log softmax over all classes. An ignored label has no
// loss, no gradient, and is not counted.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, loss::kMostInputs);
  const Shape& x = in.shape(loss::x);
  if (x.rank() < 2 || x.rank() > 4)
    in.fail(text("the model's output has shape ", x,
                 ", needs [batch, classes], [batch, steps, classes] or [batch, classes, h, w]"));
  if (const TensorType need{DType::i32, labels_shape(x)}; in.types[loss::target] != need)
    in.fail(
        text("labels are ", name_of(in.types[loss::target].dtype), in.shape(loss::target), ", needs i32", need.shape));
  check_weights(in, labels_shape(x));
  return {{DType::f64, {1}}, {DType::i64, {1}}, in.types[loss::x]};
}

// Attribute scale: the weight of each label, 1 / (labels of the whole batch) for the mean.
//
//     dx = scale weight (softmax(x) - (1 - s) onehot(label) - s / classes)
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>&) {
  std::vector<ValueId> inputs = node.inputs;
  inputs[loss::x] = node.outputs[loss::probabilities];
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[loss::x] = b.append(cross_entropy_gradient_op, node, inputs, node.attributes);
  return gradients;
}

// Inputs: probabilities, labels, and the loss scale, the weight of a label and the weights, each or
// none.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, loss::kMostInputs);
  return {in.types[loss::x]};
}

}  // namespace

const OpDef cross_entropy_op{.name = "cross_entropy", .infer = infer, .gradient = gradient, .traits = LossOp{}};
const OpDef cross_entropy_gradient_op{.name = "cross_entropy_gradient", .infer = infer_gradient, .traits = LossOp{}};

}  // namespace troika
