// rms_norm: the numbers of the last axes over the root of the mean of their squares, times a weight
// (Zhang and Sennrich 2019):
//
//     y = x / sqrt(mean of x^2 + eps) * weight
#include "core/text.h"
#include "ops/norm.h"

namespace troika {
namespace {

// Attributes: axis, the first of the normalised ones; eps.
std::vector<TensorType> infer(const OpInputs& in) {
  const Shape& x = in.shape(norm::x);
  const int64_t axis = in.node.attributes.integer("axis");
  if (axis < 0 || axis >= x.rank()) in.fail(text("axis is ", axis, ", input has shape ", x));
  return infer_norm(in, Shape(std::vector<int64_t>(x.dims().begin() + axis, x.dims().end())), false);
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return append_norm_gradient(b, rms_norm_gradient_op, node, dy[0]);
}

}  // namespace

const OpDef rms_norm_op{
    .name = "rms_norm", .infer = infer, .gradient = gradient, .kept_outputs = {norm::inv_std}, .traits = norm_traits()};
const OpDef rms_norm_gradient_op{
    .name = "rms_norm_gradient", .infer = infer_norm_gradient, .traits = norm_gradient_traits()};

}  // namespace troika
