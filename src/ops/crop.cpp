// crop: the upper left part of images [n, c, h, w] -> [n, c, h', w']. It crops only inputs, and so
// has no gradient.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attribute size: {height, width}.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const auto& size = in.node.attributes.list("size");
  const Shape& x = in.shape(0);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > x[2] || size[1] > x[3])
    in.fail(text("size is ", Shape(size), ", needs two numbers from 1 to ", x[2], " and ", x[3]));
  return {{in.types[0].dtype, {x[0], x[1], size[0], size[1]}}};
}

}  // namespace

const OpDef crop_op{.name = "crop", .infer = infer, .traits = UtilityOp{}};

}  // namespace troika
