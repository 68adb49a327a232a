// round_bf16: rounds gradients to the nearest bf16, ties to even, for gradient compression. The
// results are stored as f32.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: gradients, f32; all are changed in place.
std::vector<TensorType> infer(const OpInputs& in) {
  for (size_t i = 0; i < in.types.size(); ++i)
    if (in.types[i].dtype != DType::f32)
      in.fail(text("gradient ", i, " is ", name_of(in.types[i].dtype), ", needs f32"));
  return {};
}

}  // namespace

const OpDef round_bf16_op{.name = "round_bf16", .infer = infer, .mutates = {0}, .traits = UtilityOp{}};

}  // namespace troika
