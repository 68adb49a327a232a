// cast: the same numbers in another floating-point type, rounded to nearest even.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attribute dtype: the DType as a number.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  const auto to = static_cast<DType>(in.node.attributes.integer("dtype"));
  if (!is_compute_dtype(in.types[0].dtype) || !is_compute_dtype(to))
    in.fail(text("cannot make ", name_of(to), " of ", name_of(in.types[0].dtype), ", needs f32, bf16 or f16"));
  return {{to, in.shape(0)}};
}

// The gradient in the input's type; weight gradients are f32 already.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const DType from = b.type(node.inputs[0]).dtype;
  if (b.type(dy[0]).dtype == from) return {dy[0]};
  return {b.append("cast", node, {dy[0]}, {{"dtype", static_cast<int64_t>(from)}})};
}

}  // namespace

extern const OpDef cast_op;
const OpDef cast_op{.name = "cast", .infer = infer, .gradient = gradient};

}  // namespace troika
