// Losses against a value per output, x and target [n, ...]: the sum over samples of the mean over a
// sample's values of
//
//     mean_squared_error     (x - t)^2
//     mean_absolute_error    |x - t|
//     huber                  (x - t)^2 / 2 if |x - t| <= delta, else delta (|x - t| - delta / 2)
//     binary_cross_entropy   -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x))
//
// (Huber 1964). x of binary_cross_entropy is a logit, and its formula is computed as
// max(x, 0) - x t + log(1 + e^-|x|).
#include "core/text.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x, target, a loss scale f32 [2] or none, the weight of a sample f32 [1] or none, and
// weights f32 [n] or none, as those of cross_entropy. Output: loss f64 [1], a sum over samples, so
// that shards can be added.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, loss::kMostInputs);
  if (in.shape(0).rank() < 1) in.fail("the model's output is one number, needs [batch, ...]");
  if (!(in.types[0] == in.types[1]))
    in.fail(text("targets have shape ", in.shape(1), ", the model's output ", in.shape(0)));
  check_weights(in, {in.shape(0)[0]});
  return {{DType::f64, {1}}};
}

// Attribute scale: the weight of each sample, 1 / (whole batch) for the mean. With k values per
// sample and d = x - target, dx is scale weight / k times
//
//     mean_squared_error     2 d
//     mean_absolute_error    the sign of d
//     huber                  d, cut at -delta and delta
//     binary_cross_entropy   sigmoid(x) - target
template <const OpDef& op>
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>&) {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[loss::x] = b.append(op, node, node.inputs, node.attributes);
  return gradients;
}

std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(2, loss::kMostInputs);
  return {in.types[0]};
}

}  // namespace

#define TROIKA_VALUE_LOSS(op)                                                                                   \
  const OpDef op##_op{.name = #op, .infer = infer, .gradient = gradient<op##_gradient_op>, .traits = LossOp{}}; \
  const OpDef op##_gradient_op{.name = #op "_gradient", .infer = infer_gradient, .traits = LossOp{}};
TROIKA_VALUE_LOSS(mean_squared_error)
TROIKA_VALUE_LOSS(mean_absolute_error)
TROIKA_VALUE_LOSS(huber)
TROIKA_VALUE_LOSS(binary_cross_entropy)
#undef TROIKA_VALUE_LOSS

}  // namespace troika
