// fill: a tensor of one number; what a device without samples hands to the all-reduce.
#include "ops/op_def.h"

namespace troika {
namespace {

// Attributes: value, shape.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(0, 0);
  return {{DType::f32, Shape(in.node.attributes.list("shape"))}};
}

}  // namespace

extern const OpDef fill_op;
const OpDef fill_op{.name = "fill", .infer = infer};

}  // namespace troika
