// fill and fill_all: a tensor of one number, such as a gradient of a rank without samples, and many
// rows of one number.
#include "ops/op_def.h"

namespace troika {
namespace {

// Attributes: value, shape.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(0, 0);
  return {{DType::f32, Shape(in.node.attributes.list("shape"))}};
}

// Attributes: value, sizes. Outputs: one row per size.
std::vector<TensorType> infer_all(const OpInputs& in) {
  in.need_inputs(0, 0);
  std::vector<TensorType> types;
  for (int64_t size : in.node.attributes.list("sizes")) types.push_back({DType::f32, {size}});
  return types;
}

}  // namespace

const OpDef fill_op{.name = "fill", .infer = infer, .traits = UtilityOp{}};
const OpDef fill_all_op{.name = "fill_all", .infer = infer_all, .traits = UtilityOp{}};

}  // namespace troika
