// count_updates: the number of updates so far, which the bias corrections of Adam and LAMB read.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: count i64 [rows], which grows by 1, and is_finite i32 [1] or none: a skipped step does
// not count.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  if (in.types[0].dtype != DType::i64 || in.shape(0).rank() != 1)
    in.fail(text("count is ", name_of(in.types[0].dtype), in.shape(0), ", needs i64[rows]"));
  if (in.has(1) && in.types[1] != TensorType{DType::i32, {1}})
    in.fail(text("is_finite is ", name_of(in.types[1].dtype), in.shape(1), ", needs i32[1]"));
  return {};
}

}  // namespace

const OpDef count_updates_op{.name = "count_updates", .infer = infer, .mutates = {0}, .traits = ConditioningOp{}};

}  // namespace troika
