// batch_norm2d: y = (x - mean) / sqrt(var + eps) * weight + bias per channel of [n, c, h, w] (Ioffe
// and Szegedy 2015), with an optional residual to add and a fused ReLU. The form for inference
// reads the running statistics. With SyncBatchNorm several ranks share their moments, and in the
// backward pass their sums (parallel/sync_batch_norm.h).
#include "ops/batch_norm2d.h"

#include "core/text.h"
#include "ops/addend.h"
#include "ops/op_def.h"

namespace troika {
namespace {

void check(const OpInputs& in) {
  using namespace batch_norm2d;
  in.need_rank(x, 4, "[batch, channels, height, width]");
  const Shape channels{in.shape(x)[1]};
  for (size_t i : {weight, bias, running_mean, running_var})
    if ((i <= bias || in.has(i)) && in.shape(i) != channels)
      in.fail(text("input has ", channels[0], " channels, its parameters have shape ", in.shape(i)));
  if (in.has(residual) && in.shape(residual) != in.shape(x))
    in.fail(text("residual has shape ", in.shape(residual), ", input has ", in.shape(x)));
}

// Throws unless input `i` is f32 [ranks, row].
void need_rows(const OpInputs& in, size_t i, int64_t row) {
  in.need_rank(i, 2, "[ranks, 2 channels + 1]");
  if (in.types[i].dtype != DType::f32 || in.shape(i)[1] != row)
    in.fail(text("moments are ", name_of(in.types[i].dtype), in.shape(i), ", need f32[ranks, ", row, "]"));
}

// Inputs: x; weight [c]; bias [c]; running_mean [c], running_var [c] and num_batches_tracked [], or
// none of the three: then nothing is tracked; residual or none; moments or none; absorbed_bias [c]
// or none. absorb_biases sets the last: the bias of the convolution before, missing from x, is
// added to the tracked mean only. Outputs: y, mean [c], inverse standard deviation [c]. Attributes:
// eps, momentum, relu.
std::vector<TensorType> infer(const OpInputs& in) {
  using namespace batch_norm2d;
  in.need_inputs(residual + 1, kInputs);
  check(in);
  const int64_t channels = in.shape(x)[1];
  if (in.has(moments)) need_rows(in, moments, 2 * channels + 1);
  if (in.has(absorbed_bias) && in.types[absorbed_bias] != TensorType{DType::f32, {channels}})
    in.fail(text("absorbed bias is ", name_of(in.types[absorbed_bias].dtype), in.shape(absorbed_bias), ", needs f32[",
                 channels, "]"));
  if (in.has(running_mean) != in.has(running_var) || in.has(running_mean) != in.has(num_batches_tracked))
    in.fail("has some of its running statistics, needs all or none");
  const TensorType channel{DType::f32, {channels}};
  std::vector<TensorType> types = {in.types[x], channel, channel};
  if (in.node.attributes.flag("mask")) types.push_back({DType::u8, {in.shape(x).elements() / 8}});
  return types;
}

// The same with sums over all ranks, which have n values per channel together. Gradients of
// parameters are this rank's: the all-reduce sums them.
std::vector<ValueId> gradient_over_ranks(GradientBuilder& b, const Node& node, ValueId dy) {
  const bool relu = node.attributes.flag("relu"), residual = node.inputs[batch_norm2d::residual] != kNoValue;
  const ValueId x = node.inputs[batch_norm2d::x], mean = node.outputs[batch_norm2d::mean];
  const auto own = b.append_all(batch_norm2d_gradient_sums_op, node, {x, mean, relu ? node.outputs[0] : kNoValue, dy},
                                {{"relu", int64_t{relu}}, {"residual", int64_t{residual && relu}}});
  const ValueId all = b.append(data_sum_op, node, {own[0]}), dz = residual && relu ? own[1] : dy;
  const ValueId y = relu && !residual ? node.outputs[0] : kNoValue;  // dz has the mask already
  const auto d = b.append_all(
      batch_norm2d_gradient_op, node,
      {x, node.inputs[batch_norm2d::weight], mean, node.outputs[batch_norm2d::inv_std], y, dz, own[0], all},
      {{"relu", int64_t{y != kNoValue}}, {"residual", int64_t{0}}});
  return {d[0], d[1], d[2], kNoValue, kNoValue, kNoValue, residual ? dz : kNoValue, kNoValue};
}

// The formulas, with xhat = (x - mean) * inv_std and n values per channel:
//
//     dz = dy, and 0 if a fused ReLU has cut; also the gradient of the residual
//     dbias = sum dz
//     dweight = sum dz xhat
//     dx = weight * inv_std * (dz - dbias / n - xhat * dweight / n)
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  using namespace batch_norm2d;
  const bool relu = node.attributes.flag("relu"), has_residual = node.inputs[residual] != kNoValue;
  if (node.inputs.size() > moments) return gradient_over_ranks(b, node, dy[0]);
  const auto d = b.append_all(batch_norm2d_gradient_op, node,
                              {node.inputs[x], node.inputs[weight], node.outputs[mean], node.outputs[inv_std],
                               relu ? node.outputs[y] : kNoValue, dy[0]},
                              {{"relu", int64_t{relu}}, {"residual", int64_t{has_residual && relu}}});
  std::vector<ValueId> gradients(residual + 1, kNoValue);
  gradients[x] = d[batch_norm2d_gradient::dx];
  gradients[weight] = d[batch_norm2d_gradient::dweight];
  gradients[bias] = d[batch_norm2d_gradient::dbias];
  if (has_residual) gradients[residual] = relu ? d[batch_norm2d_gradient::dz] : dy[0];
  return gradients;
}

// Outputs: dx, dweight, dbias, dz if `residual`, and dbias once more if `has_dbias_too`.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  using namespace batch_norm2d_gradient;
  in.need_inputs(dy + 1, kInputs);
  const bool is_summed = in.has(own_sums), residual = in.node.attributes.flag("residual");
  const int64_t size = 2 * in.shape(x)[1] + 1;
  const auto is_sums = [&](size_t i) {  // one row, or several to be added up
    return in.has(i) && in.types[i].dtype == DType::f32 && in.shape(i).rank() <= 2 &&
           in.shape(i)[in.shape(i).rank() - 1] == size;
  };
  for (size_t i : {own_sums, all_sums})
    if (is_summed && !is_sums(i))
      in.fail(text("sums are ", in.has(i) ? text(name_of(in.types[i].dtype), in.shape(i)) : "absent", ", need f32[",
                   size, "]"));
  std::vector<TensorType> types = {in.types[x], in.types[weight], in.types[weight]};
  if (is_summed && (residual || in.has(addend))) in.fail("has sums, whose op returns dz; needs no residual");
  const int64_t stride = addend_stride_of(in.node);
  if (stride < 1) in.fail(text("has an addend_stride of ", stride, ", need 1 or more"));
  if (in.has(addend)) {
    in.need_rank(dy, 4, "[batch, channels, height, width]");
    const TensorType wanted = addend_type(in.types[dy], stride);
    if (in.types[addend] != wanted)
      in.fail(text("adds ", name_of(in.types[addend].dtype), in.shape(addend), ", need ", name_of(wanted.dtype),
                   wanted.shape));
  }
  if (in.has(addend) && !residual) in.fail("adds gradients and has no residual, need it: the sum is kept as dz");
  if (residual) types.push_back(in.types[x]);
  if (in.node.attributes.flag("has_dbias_too")) types.push_back(in.types[weight]);
  return types;
}

// Input: x. Attributes rank, ranks. Output: f32 [ranks, 2 c + 1]. Row `rank` has {values per
// channel, means [c], sums of squared differences from the means [c]}; other rows are 0. The sum
// over the ranks has all rows.
std::vector<TensorType> infer_moments(const OpInputs& in) {
  in.need_inputs(1, 1);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const int64_t rank = in.node.attributes.integer("rank"), ranks = in.node.attributes.integer("ranks");
  if (rank < 0 || rank >= ranks) in.fail(text("rank is ", rank, " of ", ranks));
  return {{DType::f32, {ranks, 2 * in.shape(0)[1] + 1}}};
}

// Inputs: x, mean, y if `relu`, dy. Outputs: f32 [2 c + 1] {values per channel, sums of dz [c],
// sums of dz (x - mean) [c]}, and dz if `residual`.
std::vector<TensorType> infer_sums(const OpInputs& in) {
  in.need_inputs(batch_norm2d_gradient_sums::kInputs, batch_norm2d_gradient_sums::kInputs);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  std::vector<TensorType> types = {{DType::f32, {2 * in.shape(0)[1] + 1}}};
  if (in.node.attributes.flag("residual")) types.push_back(in.types[0]);
  return types;
}

// The inputs of batch_norm2d, whose place the op takes. Output: y.
std::vector<TensorType> infer_inference(const OpInputs& in) {
  using namespace batch_norm2d;
  in.need_inputs(residual + 1, residual + 1);
  if (!in.has(running_mean) || !in.has(running_var)) in.fail("has no running statistics, inference needs them");
  check(in);
  return {in.types[0]};
}

const std::vector<int> kF32Inputs = {batch_norm2d::weight,      batch_norm2d::bias,    batch_norm2d::running_mean,
                                     batch_norm2d::running_var, batch_norm2d::moments, batch_norm2d::absorbed_bias};

}  // namespace

const OpDef batch_norm2d_op{
    .name = "batch_norm2d",
    .infer = infer,
    .gradient = gradient,
    .mutates = {batch_norm2d::running_mean, batch_norm2d::running_var, batch_norm2d::num_batches_tracked},
    .repeats_without_state = true,
    .kept_outputs = {batch_norm2d::mean, batch_norm2d::inv_std},
    .traits = LayerOp{.channels = always<ChannelRule::per_channel>,
                      .reach = Reach::whole,
                      .fuses_relu = true,
                      .inference = InferenceForm{InferenceForm::other_op, &batch_norm2d_inference_op},
                      .low = LowPrecision{true, kF32Inputs},
                      .has_product = false}};
const OpDef batch_norm2d_gradient_op{.name = "batch_norm2d_gradient",
                                     .infer = infer_gradient,
                                     .traits = GradientOp{.is_of_weights = false, .has_product = false}};
const OpDef batch_norm2d_inference_op{.name = "batch_norm2d_inference",
                                      .infer = infer_inference,
                                      .traits = LayerOp{.channels = always<ChannelRule::per_channel>,
                                                        .reach = Reach::whole,
                                                        .fuses_relu = true,
                                                        .inference = InferenceForm{},
                                                        .low = LowPrecision{true, kF32Inputs},
                                                        .has_product = false}};
const OpDef batch_norm2d_moments_op{.name = "batch_norm2d_moments",
                                    .infer = infer_moments,
                                    .kept_outputs = {0},
                                    .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                                      .reach = Reach::whole,
                                                      .fuses_relu = false,
                                                      .inference = InferenceForm{},
                                                      .low = LowPrecision{true},
                                                      .has_product = false}};
const OpDef batch_norm2d_gradient_sums_op{.name = "batch_norm2d_gradient_sums",
                                          .infer = infer_sums,
                                          .traits = GradientOp{.is_of_weights = false, .has_product = false}};

}  // namespace troika
