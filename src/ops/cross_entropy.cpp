// cross_entropy: the sum over samples of -log softmax(x)[label], for x [n, classes] and labels i32 [n].
#include "core/text.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x, labels, and a loss scale f32 [2] or none, whose first number the gradient is multiplied by.
// Outputs: loss f64 [1] (a sum, so that shards add up), correct i64 [1] (samples whose largest output is their label;
// of equal ones the first counts), probabilities [n, classes].
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 3);
  if (in.shape(0).rank() != 2) in.fail(text("the model's output has shape ", in.shape(0), ", needs [batch, classes]"));
  if (in.types[1] != TensorType{DType::i32, {in.shape(0)[0]}})
    in.fail(text("labels are ", name_of(in.types[1].dtype), in.shape(1), ", needs i32[", in.shape(0)[0], "]"));
  return {{DType::f64, {1}}, {DType::i64, {1}}, in.types[0]};
}

// Attribute scale: what each sample weighs, 1 / (whole batch) for the mean. dx = scale (softmax(x) - onehot(label)).
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>&) {
  std::vector<ValueId> inputs = node.inputs;
  inputs[loss::x] = node.outputs[loss::probabilities];
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[loss::x] = b.append(cross_entropy_gradient_op, node, inputs, node.attributes);
  return gradients;
}

// Inputs: probabilities, labels, and the loss scale or none.

std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, 3);
  return {in.types[0]};
}

}  // namespace

const OpDef cross_entropy_op{.name = "cross_entropy", .infer = infer, .gradient = gradient, .traits = LossOp{}};
const OpDef cross_entropy_gradient_op{.name = "cross_entropy_gradient", .infer = infer_gradient, .traits = LossOp{}};

}  // namespace troika
