// argmax: the place of the largest number along one axis; of equal numbers, the first. NaN counts
// as the largest. Attribute: axis.
#include "core/text.h"
#include "ops/axis_rows.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Output: i64, without the axis.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  check_axis(in);
  std::vector<int64_t> dims = in.shape(0).dims();
  const int64_t axis = in.node.attributes.integer("axis");
  if (dims[static_cast<size_t>(axis)] < 1) in.fail(text("axis ", axis, " of ", in.shape(0), " has no numbers"));
  dims.erase(dims.begin() + axis);
  return {{DType::i64, Shape(std::move(dims))}};
}

}  // namespace

const OpDef argmax_op{.name = "argmax", .infer = infer, .traits = UtilityOp{}};

}  // namespace troika
