// gradient_factor: the factor by which an update multiplies gradients. It divides by the loss scale
// and clips by the common 2-norm of all gradients, as PyTorch's clip_grad_norm_ defines it.
// gradient_norm: the norm of one rank's gradients.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

const TensorType kNumber{DType::f32, {1}}, kScale{DType::f32, {2}};

// Inputs: loss_scale f32 [2] or none, by whose first number gradients are divided; then, if
// `max_norm` is above 0, gradients, f32. Attributes: max_norm, eps. Outputs: factor, and norm if
// `max_norm` is above 0.
//
//     norm = sqrt(sum of squares) / scale
//     factor = min(1, max_norm / (norm + eps)) / scale, and NaN if the norm is NaN
//
// After the all-reduce every rank has the same sums, so all ranks agree.
std::vector<TensorType> infer(const OpInputs& in) {
  const bool clips = in.node.attributes.real("max_norm") > 0;
  if (in.types.size() < (clips ? 2 : 1))
    in.fail(text("has ", in.types.size(), " inputs, needs ", clips ? "at least 2" : "1"));
  if (!clips && in.types.size() > 1)
    in.fail(text("max_norm is 0, and has ", in.types.size() - 1, " gradients, needs none"));
  if (!clips && !in.has(0)) in.fail("has neither a loss scale nor max_norm above 0, needs one");
  if (in.has(0) && in.types[0] != kScale)
    in.fail(text("loss scale is ", name_of(in.types[0].dtype), in.shape(0), ", needs f32[2]"));
  for (size_t i = 1; i < in.types.size(); ++i)
    if (in.types[i].dtype != DType::f32)
      in.fail(text("gradient ", i - 1, " is ", name_of(in.types[i].dtype), ", needs f32"));
  if (!clips) return {kNumber};
  return {kNumber, kNumber};
}

// Inputs: gradients, f32, or none. Attributes rank, ranks. Output: f32 [ranks], the norm at `rank`
// and 0 elsewhere. The sum over the ranks has every rank's norm, and their 2-norm is that of all
// gradients.
std::vector<TensorType> infer_norm(const OpInputs& in) {
  const int64_t rank = in.node.attributes.integer("rank"), ranks = in.node.attributes.integer("ranks");
  if (rank < 0 || rank >= ranks) in.fail(text("rank is ", rank, " of ", ranks));
  for (size_t i = 0; i < in.types.size(); ++i)
    if (in.types[i].dtype != DType::f32)
      in.fail(text("gradient ", i, " is ", name_of(in.types[i].dtype), ", needs f32"));
  return {{DType::f32, {ranks}}};
}

}  // namespace

const OpDef gradient_norm_op{.name = "gradient_norm", .infer = infer_norm, .traits = ConditioningOp{}};
const OpDef gradient_factor_op{.name = "gradient_factor", .infer = infer, .traits = ConditioningOp{}};

}  // namespace troika
