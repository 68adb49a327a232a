// Ops that a split by channel adds: parts of a value's channels, which the ranks of a channel group
// gather, and sums over these ranks. Each rank takes all (channel_sum) or its part
// (channel_scatter). Attribute axis: the axis of the channels. Absent: [n, c, ...]; 2: [n, steps,
// c].
#include <numeric>

#include "ops/channels.h"

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attributes begin, end: the channels of x that y has.
std::vector<TensorType> infer_slice(const OpInputs& in) {
  in.need_inputs(1, 1);
  const int64_t begin = in.node.attributes.integer("begin"), end = in.node.attributes.integer("end");
  Shape shape = in.shape(0);
  const int axis = axis_of(in.node);
  if (shape.rank() <= axis) in.fail(text("input has shape ", shape, ", needs channels on axis ", axis));
  if (begin < 0 || begin >= end || end > shape[axis])
    in.fail(text("the part is ", begin, " to ", end, ", input has ", shape[axis], " on axis ", axis));
  shape[axis] = end - begin;
  return {{in.types[0].dtype, shape}};
}

// Zeros before the slice and after it.
std::vector<ValueId> slice_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  Shape shape = b.type(node.inputs[0]).shape;
  const int axis = axis_of(node);
  const int64_t begin = node.attributes.integer("begin"), end = node.attributes.integer("end"), channels = shape[axis];
  std::vector<ValueId> parts;
  auto add_zeros = [&](int64_t width) {
    shape[axis] = width;
    if (width > 0) parts.push_back(b.append(fill_op, node, {}, {{"shape", shape.dims()}, {"value", 0.0}}));
  };
  add_zeros(begin);
  parts.push_back(dy[0]);
  add_zeros(channels - end);
  return {parts.size() > 1 ? b.append(join_steps_op, node, parts, on_axis({}, axis)) : dy[0]};
}

// Returns the channels of all ranks.
int64_t sum_of(const std::vector<int64_t>& widths) { return std::accumulate(widths.begin(), widths.end(), int64_t{0}); }

// Attributes: widths, the channels of each rank of the group; rank, this rank's place in the group.
// Output: the values of all ranks as a run of numbers, [n, width, ...] of one rank after another.
// join_channels reads it.
std::vector<TensorType> infer_gather(const OpInputs& in) {
  in.need_inputs(1, 1);
  const std::vector<int64_t>& widths = in.node.attributes.list("widths");
  const auto rank = static_cast<size_t>(in.node.attributes.integer("rank"));
  const Shape& x = in.shape(0);
  const int axis = axis_of(in.node);
  if (x.rank() <= axis || rank >= widths.size() || x[axis] != widths[rank])
    in.fail(text("input has shape ", x, ", needs the channels of rank ", rank, " on axis ", axis));
  return {{in.types[0].dtype, {x.elements() / x[axis] * sum_of(widths)}}};
}

// The gradient of gathered channels is not packed; it is as join_channels returns it: [n, channels,
// ...].
std::vector<ValueId> gather_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const std::vector<int64_t>& widths = node.attributes.list("widths");
  const auto own = widths.begin() + node.attributes.integer("rank");
  const int64_t begin = std::accumulate(widths.begin(), own, int64_t{0});
  return {
      b.append(slice_channels_op, node, {dy[0]}, on_axis({{"begin", begin}, {"end", begin + *own}}, axis_of(node)))};
}

// Attributes: widths, as in channel_gather; shape, of the output [n, channels, ...].
std::vector<TensorType> infer_join(const OpInputs& in) {
  in.need_inputs(1, 1);
  const Shape shape(in.node.attributes.list("shape"));
  const int axis = axis_of(in.node);
  if (shape.rank() <= axis || shape.elements() != in.shape(0).elements() ||
      shape[axis] != sum_of(in.node.attributes.list("widths")))
    in.fail(text("input has ", in.shape(0).elements(), " elements, cannot be joined to ", shape));
  return {{in.types[0].dtype, shape}};
}

std::vector<ValueId> join_gradient(GradientBuilder&, const Node&, const std::vector<ValueId>& dy) { return {dy[0]}; }

// Attributes: widths, as in channel_gather. Output: the channels of one rank after another, as a
// run of numbers, the reverse of join_channels.
std::vector<TensorType> infer_part(const OpInputs& in) {
  in.need_inputs(1, 1);
  const Shape& x = in.shape(0);
  const int64_t channels = sum_of(in.node.attributes.list("widths"));
  const int axis = axis_of(in.node);
  if (x.rank() <= axis || x[axis] != channels)
    in.fail(text("input has shape ", x, ", needs ", channels, " channels on axis ", axis));
  return {{in.types[0].dtype, {x.elements()}}};
}

std::vector<ValueId> part_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(join_channels_op, node, {dy[0]},
                   on_axis({{"shape", b.type(node.inputs[0]).shape.dims()}, {"widths", node.attributes.list("widths")}},
                           axis_of(node)))};
}

// Attributes: widths and rank, as in channel_gather; shape, of the output [n, width, ...]. Input:
// each rank's values as part_channels returns them. Output: this rank's part of the sum over all
// ranks (a reduce-scatter).
std::vector<TensorType> infer_scatter(const OpInputs& in) {
  in.need_inputs(1, 1);
  const std::vector<int64_t>& widths = in.node.attributes.list("widths");
  const auto rank = static_cast<size_t>(in.node.attributes.integer("rank"));
  const Shape shape(in.node.attributes.list("shape"));
  const int axis = axis_of(in.node);
  if (shape.rank() <= axis || rank >= widths.size() || shape[axis] != widths[rank] ||
      shape.elements() / shape[axis] * sum_of(widths) != in.shape(0).elements())
    in.fail(text("input has ", in.shape(0).elements(), " elements, needs those of all ranks, if rank ", rank, " has ",
                 shape));
  return {{in.types[0].dtype, shape}};
}

// Each rank's summand needs the gradients of all parts.
std::vector<ValueId> scatter_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(
      channel_gather_op, node, {dy[0]},
      on_axis({{"rank", node.attributes.integer("rank")}, {"widths", node.attributes.list("widths")}}, axis_of(node)))};
}

std::vector<TensorType> infer_same(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {in.types[0]};
}

// Each rank reads its copy for channels of its own, so the gradients are summed over the ranks.
std::vector<ValueId> copy_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append(channel_sum_op, node, {dy[0]})};
}

// Each rank continues with the whole sum, so each has the whole gradient of its own part.
std::vector<ValueId> sum_gradient(GradientBuilder&, const Node&, const std::vector<ValueId>& dy) { return {dy[0]}; }

}  // namespace

const OpDef slice_channels_op{.name = "slice_channels",
                              .infer = infer_slice,
                              .gradient = slice_gradient,
                              .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                                .reach = Reach::whole,
                                                .fuses_relu = false,
                                                .inference = InferenceForm{},
                                                .low = LowPrecision{},
                                                .has_product = false}};
const OpDef channel_gather_op{
    .name = "channel_gather",
    .infer = infer_gather,
    .gradient = gather_gradient,
    .traits = CollectiveOp{.kind = CollectiveOp::gather, .group = RankGroup::channel, .low = {true}}};
const OpDef join_channels_op{.name = "join_channels",
                             .infer = infer_join,
                             .gradient = join_gradient,
                             .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                               .reach = Reach::whole,
                                               .fuses_relu = false,
                                               .inference = InferenceForm{},
                                               .low = LowPrecision{true},
                                               .has_product = false}};
const OpDef part_channels_op{.name = "part_channels",
                             .infer = infer_part,
                             .gradient = part_gradient,
                             .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                               .reach = Reach::whole,
                                               .fuses_relu = false,
                                               .inference = InferenceForm{},
                                               .low = LowPrecision{},
                                               .has_product = false}};
const OpDef channel_scatter_op{.name = "channel_scatter",
                               .infer = infer_scatter,
                               .gradient = scatter_gradient,
                               .traits = CollectiveOp{.kind = CollectiveOp::scatter, .group = RankGroup::channel}};
const OpDef channel_copy_op{.name = "channel_copy",
                            .infer = infer_same,
                            .gradient = copy_gradient,
                            .is_view = true,
                            .traits = CollectiveOp{.kind = CollectiveOp::copy, .group = RankGroup::channel}};
const OpDef channel_sum_op{.name = "channel_sum",
                           .infer = infer_same,
                           .gradient = sum_gradient,
                           .traits = CollectiveOp{.kind = CollectiveOp::sum, .group = RankGroup::channel}};

}  // namespace troika
