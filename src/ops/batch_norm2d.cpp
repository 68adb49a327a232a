// batch_norm2d: y = (x - mean) / sqrt(var + eps) * weight + bias a channel of [n, c, h, w] (Ioffe and Szegedy 2015), with an
// optional residual to add and a fused ReLU; and the form for inference, which takes the running statistics. Over the samples
// of several ranks (SyncBatchNorm), each gives its moments, and in backward its sums; see parallel/sync_batch_norm.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

void check(const OpInputs& in) {
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const Shape channels{in.shape(0)[1]};
  for (size_t i = 1; i <= 4; ++i)
    if ((i <= 2 || in.has(i)) && in.shape(i) != channels)
      in.fail(text("input has ", channels[0], " channels, its parameters have shape ", in.shape(i)));
  if (in.has(6) && in.shape(6) != in.shape(0))
    in.fail(text("residual has shape ", in.shape(6), ", input has ", in.shape(0)));
}

// f32 [ranks, row].
void need_rows(const OpInputs& in, size_t i, int64_t row) {
  in.need_rank(i, 2, "[ranks, 2 channels + 1]");
  if (in.types[i].dtype != DType::f32 || in.shape(i)[1] != row)
    in.fail(text("moments are ", name_of(in.types[i].dtype), in.shape(i), ", need f32[ranks, ", row, "]"));
}

// Inputs: x, weight [c], bias [c], running_mean [c], running_var [c], num_batches_tracked [] (or none of the three: then nothing
// is tracked), residual or none; with statistics over several ranks also their moments (see batch_norm2d_moments), or none; and,
// behind autodiff, what x lacks a channel [c], which the mean that is tracked counts (see absorb_biases).
// Outputs: y, mean [c], inverse standard deviation [c]. Attributes: eps, momentum, relu.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(7, 9);
  check(in);
  if (in.has(7)) need_rows(in, 7, 2 * in.shape(0)[1] + 1);
  if (in.has(8) && in.types[8] != TensorType{DType::f32, {in.shape(0)[1]}})
    in.fail(text("what it lacks is ", name_of(in.types[8].dtype), in.shape(8), ", need f32[", in.shape(0)[1], "]"));
  if (in.has(3) != in.has(4) || in.has(3) != in.has(5))
    in.fail("has some of its running statistics, needs all or none");
  const TensorType channel{DType::f32, {in.shape(0)[1]}};
  return {in.types[0], channel, channel};
}

// The same with sums over all ranks, and n values a channel on all of them. Gradients of parameters are this rank's: the
// all-reduce adds them up.
std::vector<ValueId> gradient_over_ranks(GradientBuilder& b, const Node& node, ValueId dy) {
  const bool relu = node.attributes.flag("relu"), residual = node.inputs[6] != kNoValue;
  const ValueId x = node.inputs[0], mean = node.outputs[1];
  const auto own = b.append_all("batch_norm2d_gradient_sums", node, {x, mean, relu ? node.outputs[0] : kNoValue, dy},
                                {{"relu", int64_t{relu}}, {"residual", int64_t{residual && relu}}});
  const ValueId all = b.append("data_sum", node, {own[0]}), dz = residual && relu ? own[1] : dy;
  const ValueId y = relu && !residual ? node.outputs[0] : kNoValue;  // dz has the mask already
  const auto d =
      b.append_all("batch_norm2d_gradient", node, {x, node.inputs[1], mean, node.outputs[2], y, dz, own[0], all},
                   {{"relu", int64_t{y != kNoValue}}, {"residual", int64_t{0}}});
  return {d[0], d[1], d[2], kNoValue, kNoValue, kNoValue, residual ? dz : kNoValue, kNoValue};
}

// With xhat = (x - mean) * inv_std and n values a channel: dbias = sum dz, dweight = sum dz xhat,
// dx = weight * inv_std * (dz - dbias / n - xhat * dweight / n); a fused ReLU gives dz = dy where y > 0, and the residual gets dz.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const bool relu = node.attributes.flag("relu"), residual = node.inputs[6] != kNoValue;
  if (node.inputs.size() > 7) return gradient_over_ranks(b, node, dy[0]);
  const auto d = b.append_all(
      "batch_norm2d_gradient", node,
      {node.inputs[0], node.inputs[1], node.outputs[1], node.outputs[2], relu ? node.outputs[0] : kNoValue, dy[0]},
      {{"relu", int64_t{relu}}, {"residual", int64_t{residual && relu}}});
  std::vector<ValueId> gradients(7, kNoValue);
  gradients[0] = d[0];
  gradients[1] = d[1];
  gradients[2] = d[2];
  if (residual) gradients[6] = relu ? d[3] : dy[0];
  return gradients;
}

// Inputs: x, weight, mean, inv_std, y where relu, dy; with statistics over several ranks also this rank's sums and those of
// all (see batch_norm2d_gradient_sums); or in their place none, and another gradient of y to add to dy (see fuse_adds). Outputs:
// dx, dweight, dbias, and dz where `residual`.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(6, 9);
  const bool is_summed = in.has(6), residual = in.node.attributes.flag("residual");
  for (size_t i = 6; is_summed && i < 8; ++i)
    if (!in.has(i) || in.types[i] != TensorType{DType::f32, {2 * in.shape(0)[1] + 1}})
      in.fail(text("sums are ", in.has(i) ? text(name_of(in.types[i].dtype), in.shape(i)) : "absent", ", need f32[",
                   2 * in.shape(0)[1] + 1, "]"));
  std::vector<TensorType> types = {in.types[0], in.types[1], in.types[1]};
  if (is_summed && (residual || in.has(8))) in.fail("has sums, whose op gives dz; needs no residual");
  if (in.has(8) && in.types[8] != in.types[5])
    in.fail(text("adds ", name_of(in.types[8].dtype), in.shape(8), " to ", name_of(in.types[5].dtype), in.shape(5),
                 ", need both of one type"));
  if (in.has(8) && !residual) in.fail("adds gradients and has no residual, need it: the sum is kept as dz");
  if (residual) types.push_back(in.types[0]);
  return types;
}

// Input: x. Attributes rank, ranks. Output: f32 [ranks, 2 c + 1], whose row `rank` has {values a channel, means [c], sums of
// squared differences from them [c]}, the others 0: their sum over the ranks has all rows.
std::vector<TensorType> infer_moments(const OpInputs& in) {
  in.need_inputs(1, 1);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const int64_t rank = in.node.attributes.integer("rank"), ranks = in.node.attributes.integer("ranks");
  if (rank < 0 || rank >= ranks) in.fail(text("rank is ", rank, " of ", ranks));
  return {{DType::f32, {ranks, 2 * in.shape(0)[1] + 1}}};
}

// Inputs: x, mean, y where relu, dy. Outputs: f32 [2 c + 1] {values a channel, sums of dz [c], sums of dz (x - mean) [c]}, and
// dz where `residual`.
std::vector<TensorType> infer_sums(const OpInputs& in) {
  in.need_inputs(4, 4);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  std::vector<TensorType> types = {{DType::f32, {2 * in.shape(0)[1] + 1}}};
  if (in.node.attributes.flag("residual")) types.push_back(in.types[0]);
  return types;
}

// Inputs as batch_norm2d, which they take over. Output: y.
std::vector<TensorType> infer_inference(const OpInputs& in) {
  in.need_inputs(7, 7);
  if (!in.has(3) || !in.has(4)) in.fail("has no running statistics, inference needs them");
  check(in);
  return {in.types[0]};
}

}  // namespace

extern const OpDef batch_norm2d_op, batch_norm2d_gradient_op, batch_norm2d_inference_op, batch_norm2d_moments_op,
    batch_norm2d_gradient_sums_op;
const OpDef batch_norm2d_op{.name = "batch_norm2d",
                            .infer = infer,
                            .gradient = gradient,
                            .mutates = {3, 4, 5},
                            .kept_outputs = {1, 2},
                            .computes_low = true,
                            .f32_inputs = {1, 2, 3, 4, 7, 8}};
const OpDef batch_norm2d_gradient_op{.name = "batch_norm2d_gradient", .infer = infer_gradient};
const OpDef batch_norm2d_inference_op{
    .name = "batch_norm2d_inference", .infer = infer_inference, .computes_low = true, .f32_inputs = {1, 2, 3, 4}};
const OpDef batch_norm2d_moments_op{
    .name = "batch_norm2d_moments", .infer = infer_moments, .kept_outputs = {0}, .computes_low = true};
const OpDef batch_norm2d_gradient_sums_op{.name = "batch_norm2d_gradient_sums", .infer = infer_sums};

}  // namespace troika
