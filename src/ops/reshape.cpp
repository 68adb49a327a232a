// reshape: the same elements, row-major, under another shape. Flattening is [n, ...] -> [n,
// features].
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attribute shape: the sizes after the batch, so that a graph can change its batch; -1 alone
// flattens. Attribute whole: `shape` has all sizes.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(1, 1);
  const Shape& x = in.shape(0);
  if (in.node.attributes.flag("whole")) {
    const Shape y(in.node.attributes.list("shape"));
    if (y.elements() != x.elements()) in.fail(text("input has shape ", x, ", which cannot become ", y));
    return {{in.types[0].dtype, y}};
  }
  if (x.rank() < 1) in.fail("input is a scalar, needs [batch, ...]");
  std::vector<int64_t> dims = {x[0]};
  int64_t features = 1;
  for (int i = 1; i < x.rank(); ++i) features *= x[i];
  for (int64_t d : in.node.attributes.list("shape")) dims.push_back(d == -1 ? features : d);
  const Shape y(dims);
  if (y.elements() != x.elements()) in.fail(text("input has shape ", x, ", which cannot become ", y));
  return {{in.types[0].dtype, y}};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const std::vector<int64_t> dims = b.type(node.inputs[0]).shape.dims();
  if (node.attributes.flag("whole"))
    return {b.append(reshape_op, node, {dy[0]}, {{"shape", dims}, {"whole", int64_t{1}}})};
  return {b.append(reshape_op, node, {dy[0]}, {{"shape", std::vector<int64_t>(dims.begin() + 1, dims.end())}})};
}

ChannelRule channel_rule(const Node& node) {
  return node.attributes.list("shape") == std::vector<int64_t>{-1} ? ChannelRule::flatten : ChannelRule::whole;
}

}  // namespace

const OpDef reshape_op{.name = "reshape",
                       .infer = infer,
                       .gradient = gradient,
                       .is_view = true,
                       .traits = LayerOp{.channels = channel_rule,
                                         .reach = Reach::whole,
                                         .fuses_relu = false,
                                         .inference = InferenceForm{},
                                         .low = LowPrecision{true},
                                         .has_product = false}};

}  // namespace troika
