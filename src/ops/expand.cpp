// expand: repeats x until it has a larger shape. Axes are aligned at their ends; one of size 1, or
// one that is missing, is repeated.
#include "core/text.h"
#include "ops/broadcast.h"

namespace troika {
namespace {

// Attribute shape: that of the output.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  const Shape& x = in.shape(0);
  const Shape y(in.node.attributes.list("shape"));
  bool fits = x.rank() <= y.rank();
  if (fits) {
    const Shape aligned = aligned_shape(in.node, x, y.rank());
    for (int axis = 0; axis < y.rank(); ++axis) fits = fits && (aligned[axis] == y[axis] || aligned[axis] == 1);
  }
  if (!fits) in.fail(text("input has shape ", x, ", cannot be repeated to ", y));
  return {{in.types[0].dtype, y}};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {sum_to(b, node, dy[0], b.type(node.inputs[0]).shape)};
}

}  // namespace

const OpDef expand_op{.name = "expand",
                      .infer = infer,
                      .gradient = gradient,
                      .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                        .reach = Reach::whole,
                                        .fuses_relu = false,
                                        .inference = InferenceForm{},
                                        .low = LowPrecision{true},
                                        .has_product = false}};

}  // namespace troika
