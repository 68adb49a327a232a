// average_update: the exponential moving average of parameters, which evaluates better than their
// last values.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: is_finite i32 [1] or none: a skipped step does not count. Then, for each parameter: the
// average, f32, and the parameter after its update, of the same shape. Attribute: decay.
//
//     average = decay * average + (1 - decay) * parameter
std::vector<TensorType> infer(const OpInputs& in) {
  if (in.types.size() < 3 || in.types.size() % 2 == 0)
    in.fail(text("has ", in.types.size(), " inputs, needs 1 and a multiple of 2"));
  if (in.has(0) && in.types[0] != TensorType{DType::i32, {1}})
    in.fail(text("is_finite is ", name_of(in.types[0].dtype), in.shape(0), ", needs i32[1]"));
  for (size_t i = 1; i < in.types.size(); i += 2)
    if (in.types[i].dtype != DType::f32 || in.types[i] != in.types[i + 1])
      in.fail(text("average is ", name_of(in.types[i].dtype), in.shape(i), ", the parameter ",
                   name_of(in.types[i + 1].dtype), in.shape(i + 1)));
  return {};
}

}  // namespace

const OpDef average_update_op{.name = "average_update", .infer = infer, .mutates = {1}, .traits = UpdateOp{}};

}  // namespace troika
