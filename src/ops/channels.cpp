// What a split by channel adds: parts of the channels of values [n, c, ...], and sums over the ranks of a channel group.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attributes begin, end: channels of x that y has.
std::vector<TensorType> infer_slice(const OpInputs& in) {
  in.need_inputs(1, 1);
  const int64_t begin = in.node.attributes.integer("begin"), end = in.node.attributes.integer("end");
  std::vector<int64_t> dims = in.shape(0).dims();
  if (dims.size() < 2) in.fail(text("input has shape ", in.shape(0), ", needs [batch, channels, ...]"));
  if (begin < 0 || begin >= end || end > dims[1])
    in.fail(text("channels are ", begin, " to ", end, ", input has ", dims[1]));
  dims[1] = end - begin;
  return {{in.types[0].dtype, Shape(dims)}};
}

std::vector<ValueId> slice_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append("pad_channels", node, {dy[0]},
                   {{"begin", node.attributes.integer("begin")}, {"channels", b.type(node.inputs[0]).shape[1]}})};
}

// Attributes begin, channels: y has so many channels, of which x's begin there and the others are 0.
std::vector<TensorType> infer_pad(const OpInputs& in) {
  in.need_inputs(1, 1);
  const int64_t begin = in.node.attributes.integer("begin"), channels = in.node.attributes.integer("channels");
  std::vector<int64_t> dims = in.shape(0).dims();
  if (dims.size() < 2) in.fail(text("input has shape ", in.shape(0), ", needs [batch, channels, ...]"));
  if (begin < 0 || begin + dims[1] > channels)
    in.fail(text("input's ", dims[1], " channels begin at ", begin, ", output has ", channels));
  dims[1] = channels;
  return {{in.types[0].dtype, Shape(dims)}};
}

std::vector<ValueId> pad_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const int64_t begin = node.attributes.integer("begin"), channels = b.type(node.inputs[0]).shape[1];
  return {b.append("slice_channels", node, {dy[0]}, {{"begin", begin}, {"end", begin + channels}})};
}

std::vector<TensorType> infer_same(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {in.types[0]};
}

// Each rank reads its copy for channels of its own: what they give back adds up.
std::vector<ValueId> copy_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {b.append("channel_sum", node, {dy[0]})};
}

// Each rank goes on with the sum, so each has the whole gradient of its own part.
std::vector<ValueId> sum_gradient(GradientBuilder&, const Node&, const std::vector<ValueId>& dy) { return {dy[0]}; }

}  // namespace

extern const OpDef slice_channels_op, pad_channels_op, channel_copy_op, channel_sum_op;
const OpDef slice_channels_op{.name = "slice_channels", .infer = infer_slice, .gradient = slice_gradient};
const OpDef pad_channels_op{.name = "pad_channels", .infer = infer_pad, .gradient = pad_gradient};
const OpDef channel_copy_op{
    .name = "channel_copy", .infer = infer_same, .gradient = copy_gradient, .communicates = true, .is_view = true};
const OpDef channel_sum_op{.name = "channel_sum", .infer = infer_same, .gradient = sum_gradient, .communicates = true};

}  // namespace troika
