// group_norm: layer_norm of each group of channels of a sample, with a weight and a bias per
// channel (Wu and He 2018).
#include "core/text.h"
#include "ops/norm.h"

namespace troika {
namespace {

// Attributes: groups, into which the channels (axis 1) are divided; eps.
std::vector<TensorType> infer(const OpInputs& in) {
  const Shape& x = in.shape(norm::x);
  if (x.rank() < 2) in.fail(text("input has shape ", x, ", needs [batch, channels, ...]"));
  const int64_t groups = in.node.attributes.integer("groups");
  if (groups < 1 || x[1] % groups != 0) in.fail(text("groups is ", groups, ", must divide ", x[1], " channels"));
  return infer_norm(in, Shape{x[1]}, true);
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return append_norm_gradient(b, group_norm_gradient_op, node, dy[0]);
}

}  // namespace

const OpDef group_norm_op{.name = "group_norm",
                          .infer = infer,
                          .gradient = gradient,
                          .kept_outputs = {norm::inv_std, norm::mean},
                          .traits = norm_traits()};
const OpDef group_norm_gradient_op{
    .name = "group_norm_gradient", .infer = infer_norm_gradient, .traits = norm_gradient_traits()};

}  // namespace troika
