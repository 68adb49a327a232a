// sum_axes: sums or means over neighbouring axes, times a factor.
#include "ops/sum_axes.h"

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attributes: begin, end, the axes; keep, whether they stay, of size 1; mean, whether the sum is
// divided by the number of its addends; factor, which multiplies the result.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  const Shape& x = in.shape(0);
  const int64_t begin = in.node.attributes.integer("begin"), end = in.node.attributes.integer("end");
  if (begin < 0 || begin >= end || end > x.rank())
    in.fail(text("axes are ", begin, " to ", end, ", input has shape ", x));
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < begin || axis >= end)
      dims.push_back(x[axis]);
    else if (in.node.attributes.flag("keep"))
      dims.push_back(1);
  return {{in.types[0].dtype, Shape(std::move(dims))}};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const Shape x = b.type(node.inputs[0]).shape;
  ValueId d = dy[0];
  if (const double factor = factor_of_sum(node, x); factor != 1)
    d = b.append(scale_op, node, {d}, {{"factor", factor}, {"offset", 0.0}});
  Shape kept = x;
  for (int64_t axis = node.attributes.integer("begin"); axis < node.attributes.integer("end"); ++axis)
    kept[static_cast<int>(axis)] = 1;
  if (b.type(d).shape != kept) d = b.append(reshape_op, node, {d}, {{"shape", kept.dims()}, {"whole", int64_t{1}}});
  return {b.append(expand_op, node, {d}, {{"shape", x.dims()}})};
}

}  // namespace

const OpDef sum_axes_op{.name = "sum_axes",
                        .infer = infer,
                        .gradient = gradient,
                        .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                          .reach = Reach::whole,
                                          .fuses_relu = false,
                                          .inference = InferenceForm{},
                                          .low = LowPrecision{true},
                                          .has_product = false}};

}  // namespace troika
