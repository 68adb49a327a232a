// clip_factor: gradient clipping by the 2-norm of all gradients together, as PyTorch's clip_grad_norm_ defines it; and
// gradient_norm, of those of one rank.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

const TensorType kNumber{DType::f32, {1}}, kScale{DType::f32, {2}};

// Inputs: gradients, f32, and where `scaled`, loss_scale f32 [2] at the end, by whose first number they are divided.
// Attributes: max_norm, eps, scaled. Outputs: factor and norm. norm = sqrt(sum of squares), of the gradients as they were
// given; factor = min(1, max_norm / (norm + eps)), and NaN where the norm is. Behind the all-reduce every rank sees the same
// sums, so all ranks agree.
std::vector<TensorType> infer(const OpInputs& in) {
  const bool is_scaled = in.node.attributes.flag("scaled");
  const size_t gradients = in.types.size() - (is_scaled && !in.types.empty() ? 1 : 0);
  if (gradients == 0) in.fail("has no gradient, needs at least 1");
  for (size_t i = 0; i < gradients; ++i)
    if (in.types[i].dtype != DType::f32)
      in.fail(text("gradient ", i, " is ", name_of(in.types[i].dtype), ", needs f32"));
  if (is_scaled && in.types.back() != kScale)
    in.fail(text("loss scale is ", name_of(in.types.back().dtype), in.types.back().shape, ", needs f32[2]"));
  return {kNumber, kNumber};
}

// Inputs: gradients, f32, or none. Attributes rank, ranks. Output: f32 [ranks], their norm at `rank` and 0 elsewhere: its sum
// over the ranks has every norm, and the norm of these is that of all gradients.
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
const OpDef clip_factor_op{.name = "clip_factor", .infer = infer, .traits = ConditioningOp{}};

}  // namespace troika
