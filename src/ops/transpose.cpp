// transpose: axis i of the output is axis order[i] of the input. Attribute: order.
#include "ops/transpose.h"

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {

TransposeLoops transpose_loops(const Node& node, const Shape& x) {
  TransposeLoops loops;
  for (const int64_t axis : node.attributes.list("order")) {
    const int64_t size = x[static_cast<int>(axis)], step = x.elements(static_cast<int>(axis) + 1, x.rank());
    if (size == 1) continue;
    const int last = loops.count - 1;
    if (last >= 0 && loops.step[last] == step * size) {
      loops.size[last] *= size;
      loops.step[last] = step;
      continue;
    }
    loops.size[loops.count] = size;
    loops.step[loops.count++] = step;
  }
  if (loops.count == 0) loops.size[loops.count++] = 1;
  return loops;
}

namespace {

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  const std::vector<int64_t>& order = in.node.attributes.list("order");
  const Shape& x = in.shape(0);
  std::vector<bool> is_taken(static_cast<size_t>(x.rank()), false);
  bool fits = order.size() == is_taken.size();
  std::vector<int64_t> dims;
  for (const int64_t axis : order) {
    fits = fits && axis >= 0 && axis < x.rank() && !is_taken[static_cast<size_t>(axis)];
    if (!fits) break;
    is_taken[static_cast<size_t>(axis)] = true;
    dims.push_back(x[static_cast<int>(axis)]);
  }
  if (!fits) in.fail(text("order is ", Shape(order), ", needs each axis of ", x, " once"));
  return {{in.types[0].dtype, Shape(std::move(dims))}};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const std::vector<int64_t>& order = node.attributes.list("order");
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return {b.append(transpose_op, node, {dy[0]}, {{"order", back}})};
}

}  // namespace

const OpDef transpose_op{.name = "transpose",
                         .infer = infer,
                         .gradient = gradient,
                         .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                           .reach = Reach::whole,
                                           .fuses_relu = false,
                                           .inference = InferenceForm{},
                                           .low = LowPrecision{true},
                                           .has_product = false}};

}  // namespace troika
