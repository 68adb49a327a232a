// mean_squared_error: the sum over samples of the mean of (x - target)^2 over a sample's values,
// for x and target [n, ...].
#include "core/text.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x, target, and a loss scale f32 [2] or none, by whose first number the gradient is
// multiplied. Output: loss f64 [1], a sum over samples, so that shards can be added.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 3);
  if (in.shape(0).rank() < 2) in.fail(text("the model's output has shape ", in.shape(0), ", needs [batch, ...]"));
  if (!(in.types[0] == in.types[1]))
    in.fail(text("targets have shape ", in.shape(1), ", the model's output ", in.shape(0)));
  return {{DType::f64, {1}}};
}

// Attribute scale: the weight of each sample, 1 / (whole batch) for the mean. With k values per
// sample:
//
//     dx = scale 2 (x - target) / k
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>&) {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[loss::x] = b.append(mean_squared_error_gradient_op, node, node.inputs, node.attributes);
  return gradients;
}

std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, 3);
  return {in.types[0]};
}

}  // namespace

const OpDef mean_squared_error_op{
    .name = "mean_squared_error", .infer = infer, .gradient = gradient, .traits = LossOp{}};
const OpDef mean_squared_error_gradient_op{
    .name = "mean_squared_error_gradient", .infer = infer_gradient, .traits = LossOp{}};

}  // namespace troika
