// Small collectives of a group of ranks.
// - data_sum, over ranks with other samples of the batch: sums of statistics and of losses.
// - model_sum and all_finite, over ranks that together hold the model once: of gradients, and sums
//   of losses.
//
// They end before the next launch, unless the attribute `background` is set: then before the first
// reader.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// The sum over the ranks.
std::vector<TensorType> infer_sum(const OpInputs& in) {
  in.need_inputs(1, 1);
  if (in.types[0].dtype != DType::f32 && in.types[0].dtype != DType::f64)
    in.fail(text("input is ", name_of(in.types[0].dtype), ", needs f32 or f64"));
  return {in.types[0]};
}

// 1 if every rank's is_finite is 1, else 0.
std::vector<TensorType> infer_all_finite(const OpInputs& in) {
  in.need_inputs(1, 1);
  if (in.types[0] != TensorType{DType::i32, {1}})
    in.fail(text("input is ", name_of(in.types[0].dtype), in.shape(0), ", needs i32[1]"));
  return {in.types[0]};
}

}  // namespace

const OpDef data_sum_op{.name = "data_sum",
                        .infer = infer_sum,
                        .kept_outputs = {0},
                        .traits = CollectiveOp{.kind = CollectiveOp::sum, .group = RankGroup::data}};
const OpDef model_sum_op{.name = "model_sum",
                         .infer = infer_sum,
                         .traits = CollectiveOp{.kind = CollectiveOp::sum, .group = RankGroup::model}};
const OpDef all_finite_op{.name = "all_finite",
                          .infer = infer_all_finite,
                          .traits = CollectiveOp{.kind = CollectiveOp::all_of, .group = RankGroup::model}};

}  // namespace troika
