// linear_cross_entropy: the last layer of a classifier, y = x W^T + b, with the sum of its
// cross_entropy and both gradients (passes/fuse_loss.cpp).
#include "ops/linear_cross_entropy.h"

#include "ops/linear.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: those of linear; those of cross_entropy after its x. Outputs: loss f64 [1] and correct
// i64 [1], as of cross_entropy; dy of y's shape; dx of x's shape; with `logits` y in f32. dy and
// dx have x's type, and dx is computed from dy as stored. Attributes: per_position and tf32 as of
// linear; scale and those of LabelSettings as of cross_entropy; logits; input_relu: x is the result
// of a ReLU, and dx is the gradient before that ReLU.
std::vector<TensorType> infer(const OpInputs& in) {
  using namespace linear_cross_entropy;
  in.need_inputs(target + 1, kMostInputs);
  const auto part = [&](size_t begin, size_t end) {
    Node node = in.node;
    node.inputs = {in.node.inputs.begin() + static_cast<ptrdiff_t>(begin),
                   in.node.inputs.begin() + static_cast<ptrdiff_t>(end)};
    return node;
  };
  const Node layer = part(x, product::kInputs), loss_node = part(kLoss, in.types.size());
  const TensorType y = linear_op.infer({layer, {in.types[x], in.types[weight], in.types[bias]}})[0];
  std::vector<TensorType> of_loss = {y};
  of_loss.insert(of_loss.end(), in.types.begin() + target, in.types.end());
  const auto results = cross_entropy_op.infer({loss_node, of_loss});
  std::vector<TensorType> types = {
      results[loss::sum], results[loss::correct], {in.types[x].dtype, y.shape}, in.types[x]};
  if (in.node.attributes.flag("logits")) types.push_back({DType::f32, y.shape});
  return types;
}

// Counts both products.
Cost cost(const OpInputs& in) {
  const LinearRows rows(in.node, in.shape(linear_cross_entropy::x));
  return {4.0 * static_cast<double>(rows.rows) *
          static_cast<double>(in.shape(linear_cross_entropy::weight).elements())};
}

}  // namespace

const OpDef linear_cross_entropy_op{.name = "linear_cross_entropy", .infer = infer, .cost = cost, .traits = LossOp{}};

}  // namespace troika
