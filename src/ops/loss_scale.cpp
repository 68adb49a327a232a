// check_finite and update_loss_scale: dynamic loss scaling (Micikevicius et al. 2018), which keeps
// small gradients from vanishing in f16. The loss's gradient is multiplied by the scale. A step
// with an infinite or NaN gradient is skipped.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

const TensorType kScale{DType::f32, {2}};     // {scale, good steps since it last changed}
const TensorType kIsFinite{DType::i32, {1}};  // 1 or 0

// Inputs: gradients, f32. Output: is_finite. After the all-reduce every rank has the same sums, so
// all ranks agree.
std::vector<TensorType> infer_check(const OpInputs& in) {
  for (size_t i = 0; i < in.types.size(); ++i)
    if (in.types[i].dtype != DType::f32)
      in.fail(text("gradient ", i, " is ", name_of(in.types[i].dtype), ", needs f32"));
  return {kIsFinite};
}

// Inputs: scale, is_finite. Attributes: growth, backoff, interval. Output: a copy of the scale
// after the update, for the host.
// - Finite: good += 1; after `interval` good steps scale *= growth and good = 0.
// - Not finite: scale = max(scale * backoff, 1) and good = 0.
std::vector<TensorType> infer_update(const OpInputs& in) {
  in.need_inputs(2, 2);
  if (in.types[0] != kScale || in.types[1] != kIsFinite)
    in.fail(text("inputs are ", name_of(in.types[0].dtype), in.shape(0), " and ", name_of(in.types[1].dtype),
                 in.shape(1), ", need f32[2] and i32[1]"));
  return {kScale};
}

}  // namespace

const OpDef check_finite_op{.name = "check_finite", .infer = infer_check, .traits = ConditioningOp{}};
const OpDef update_loss_scale_op{
    .name = "update_loss_scale", .infer = infer_update, .mutates = {0}, .traits = ConditioningOp{}};

}  // namespace troika
