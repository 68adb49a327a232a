// layer_norm: the numbers of the last axes, minus their mean, over their standard deviation, times
// a weight, plus a bias (Ba, Kiros and Hinton 2016):
//
//     y = (x - mean) / sqrt(variance + eps) * weight + bias
#include "core/text.h"
#include "ops/norm.h"

namespace troika {
namespace {

// Attributes: axis, the first of the normalised ones; eps.
std::vector<TensorType> infer(const OpInputs& in) {
  const Shape& x = in.shape(norm::x);
  const int64_t axis = in.node.attributes.integer("axis");
  if (axis < 0 || axis >= x.rank()) in.fail(text("axis is ", axis, ", input has shape ", x));
  return infer_norm(in, Shape(std::vector<int64_t>(x.dims().begin() + axis, x.dims().end())), true);
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return append_norm_gradient(b, layer_norm_gradient_op, node, dy[0]);
}

}  // namespace

const OpDef layer_norm_op{.name = "layer_norm",
                          .infer = infer,
                          .gradient = gradient,
                          .kept_outputs = {norm::inv_std, norm::mean},
                          .traits = norm_traits()};
const OpDef layer_norm_gradient_op{
    .name = "layer_norm_gradient", .infer = infer_norm_gradient, .traits = norm_gradient_traits()};

}  // namespace troika
