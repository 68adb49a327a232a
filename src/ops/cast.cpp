// cast and cast_all: the same numbers in another type (core/numbers.h), of one tensor or of many.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Returns the DType that the attribute dtype names as a number.
DType cast_type(const OpInputs& in, const TensorType& from) {
  const auto to = static_cast<DType>(in.node.attributes.integer("dtype"));
  if (!is_castable(from.dtype) || !is_castable(to))
    in.fail(text("cannot make ", name_of(to), " of ", name_of(from.dtype), ", needs f32, bf16, f16, i32, i64 or u8"));
  return to;
}

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {{cast_type(in, in.types[0]), in.shape(0)}};
}

// The gradient has the input's type. Weight gradients are f32 already.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const DType from = b.type(node.inputs[0]).dtype;
  if (!is_compute_dtype(from) || !is_compute_dtype(b.type(dy[0]).dtype)) return {kNoValue};
  if (b.type(dy[0]).dtype == from) return {dy[0]};
  return {b.append(cast_op, node, {dy[0]}, {{"dtype", static_cast<int64_t>(from)}})};
}

// Inputs: tensors of one type. The op replaces casts after autodiff, so it needs no gradient.
std::vector<TensorType> infer_all(const OpInputs& in) {
  std::vector<TensorType> types;
  for (const TensorType& type : in.types) {
    if (type.dtype != in.types[0].dtype)
      in.fail(text("inputs are ", name_of(in.types[0].dtype), " and ", name_of(type.dtype), ", need one type"));
    types.push_back({cast_type(in, type), type.shape});
  }
  if (types.empty()) in.fail("has no inputs, needs at least 1");
  return types;
}

}  // namespace

const OpDef cast_op{.name = "cast", .infer = infer, .gradient = gradient, .traits = UtilityOp{}};
const OpDef cast_all_op{.name = "cast_all", .infer = infer_all, .traits = UtilityOp{}};

}  // namespace troika
