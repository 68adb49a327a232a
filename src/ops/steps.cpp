// split_steps and join_steps: a sequence [n, steps, ...] cut in time into shorter ones, and the reverse. Each one's gradient is
// the other.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attribute steps: of each output, in order.
std::vector<TensorType> infer_split(const OpInputs& in) {
  in.need_inputs(1, 1);
  std::vector<int64_t> dims = in.shape(0).dims();
  if (dims.size() < 2) in.fail(text("input has shape ", in.shape(0), ", needs [batch, steps, ...]"));
  const int64_t whole = dims[1];
  int64_t total = 0;
  std::vector<TensorType> types;
  for (int64_t steps : in.node.attributes.list("steps")) {
    if (steps < 1) in.fail(text("a part has ", steps, " steps, needs at least 1"));
    total += dims[1] = steps;
    types.push_back({in.types[0].dtype, Shape(dims)});
  }
  if (total != whole) in.fail(text("parts have ", total, " steps, input has ", whole));
  return types;
}

// An output that nothing reads has no gradient: its steps are zero.
std::vector<ValueId> split_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<ValueId> parts = dy;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] == kNoValue)
      parts[i] = b.append(fill_op, node, {}, {{"shape", b.type(node.outputs[i]).shape.dims()}, {"value", 0.0}});
  return {b.append(join_steps_op, node, std::move(parts))};
}

// Inputs: parts that differ in their steps alone.
std::vector<TensorType> infer_join(const OpInputs& in) {
  if (in.types.empty()) in.fail("has no inputs, needs at least 1");
  std::vector<int64_t> dims = in.shape(0).dims();
  if (dims.size() < 2) in.fail(text("input has shape ", in.shape(0), ", needs [batch, steps, ...]"));
  int64_t total = 0;
  for (const TensorType& type : in.types) {
    dims[1] = type.shape.rank() > 1 ? type.shape[1] : 0;
    if (type.dtype != in.types[0].dtype || type.shape != Shape(dims))
      in.fail(text("parts have shapes ", in.shape(0), " and ", type.shape, ", may differ in their steps alone"));
    total += dims[1];
  }
  dims[1] = total;
  return {{in.types[0].dtype, Shape(dims)}};
}

std::vector<ValueId> join_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<int64_t> steps;
  for (ValueId part : node.inputs) steps.push_back(b.type(part).shape[1]);
  return b.append_all(split_steps_op, node, {dy[0]}, {{"steps", steps}});
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
