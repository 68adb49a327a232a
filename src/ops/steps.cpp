// split_steps and join_steps: cut a sequence [n, steps, ...] in time into shorter ones, and join
// them again. Each op's gradient is the other op. Attribute axis: the axis of the steps
// (ops/channels.h).
#include "core/text.h"
#include "ops/channels.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attribute steps: the steps of each output, in order.
std::vector<TensorType> infer_split(const OpInputs& in) {
  in.need_inputs(1, 1);
  Shape shape = in.shape(0);
  const int axis = axis_of(in.node);
  if (shape.rank() <= axis) in.fail(text("input has shape ", shape, ", needs [batch, steps, ...]"));
  const int64_t whole = shape[axis];
  int64_t total = 0;
  std::vector<TensorType> types;
  for (int64_t steps : in.node.attributes.list("steps")) {
    if (steps < 1) in.fail(text("a part has ", steps, " steps, needs at least 1"));
    total += shape[axis] = steps;
    types.push_back({in.types[0].dtype, shape});
  }
  if (total != whole) in.fail(text("parts have ", total, " steps, input has ", whole));
  return types;
}

// If nothing reads an output, the output has no gradient, and its steps are zero.
std::vector<ValueId> split_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<ValueId> parts = dy;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] == kNoValue)
      parts[i] = b.append(fill_op, node, {}, {{"shape", b.type(node.outputs[i]).shape.dims()}, {"value", 0.0}});
  return {b.append(join_steps_op, node, std::move(parts), on_axis({}, axis_of(node)))};
}

// Inputs: parts that differ only in their steps.
std::vector<TensorType> infer_join(const OpInputs& in) {
  if (in.types.empty()) in.fail("has no inputs, needs at least 1");
  Shape shape = in.shape(0);
  const int axis = axis_of(in.node);
  if (shape.rank() <= axis) in.fail(text("input has shape ", shape, ", needs [batch, steps, ...]"));
  int64_t total = 0;
  for (const TensorType& type : in.types) {
    shape[axis] = type.shape.rank() > axis ? type.shape[axis] : 0;
    if (type.dtype != in.types[0].dtype || type.shape != shape)
      in.fail(text("parts have shapes ", in.shape(0), " and ", type.shape, ", may differ in their steps alone"));
    total += shape[axis];
  }
  shape[axis] = total;
  return {{in.types[0].dtype, shape}};
}

std::vector<ValueId> join_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<int64_t> steps;
  for (ValueId part : node.inputs) steps.push_back(b.type(part).shape[axis_of(node)]);
  return b.append_all(split_steps_op, node, {dy[0]}, on_axis({{"steps", steps}}, axis_of(node)));
}

}  // namespace

const OpDef split_steps_op{.name = "split_steps",
                           .infer = infer_split,
                           .gradient = split_gradient,
                           .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                             .reach = Reach::whole,
                                             .fuses_relu = false,
                                             .inference = InferenceForm{},
                                             .low = LowPrecision{},
                                             .has_product = false}};
const OpDef join_steps_op{.name = "join_steps",
                          .infer = infer_join,
                          .gradient = join_gradient,
                          .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                            .reach = Reach::whole,
                                            .fuses_relu = false,
                                            .inference = InferenceForm{},
                                            .low = LowPrecision{},
                                            .has_product = false}};

}  // namespace troika
