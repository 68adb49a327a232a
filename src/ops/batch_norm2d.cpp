// batch_norm2d: y = (x - mean) / sqrt(var + eps) * weight + bias a channel of [n, c, h, w] (Ioffe and Szegedy 2015), with an
// optional residual to add and a fused ReLU; and the form for inference, which takes the running statistics.
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

// Inputs: x, weight [c], bias [c], running_mean [c], running_var [c], num_batches_tracked [] (or none of the three: then nothing
// is tracked), residual or none.
// Outputs: y, mean [c], inverse standard deviation [c]. Attributes: eps, momentum, relu.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(7, 7);
  check(in);
  if (in.has(3) != in.has(4) || in.has(3) != in.has(5)) in.fail("has some of its running statistics, needs all or none");
  const TensorType channel{DType::f32, {in.shape(0)[1]}};
  return {in.types[0], channel, channel};
}

// With xhat = (x - mean) * inv_std and n values a channel: dbias = sum dz, dweight = sum dz xhat,
// dx = weight * inv_std * (dz - dbias / n - xhat * dweight / n); a fused ReLU gives dz = dy where y > 0, and the residual gets dz.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const bool relu = node.attributes.flag("relu"), residual = node.inputs[6] != kNoValue;
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

// Inputs: x, weight, mean, inv_std, y where relu, dy. Outputs: dx, dweight, dbias, and dz where `residual`.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(6, 6);
  std::vector<TensorType> types = {in.types[0], in.types[1], in.types[1]};
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

extern const OpDef batch_norm2d_op, batch_norm2d_gradient_op, batch_norm2d_inference_op;
const OpDef batch_norm2d_op{.name = "batch_norm2d",
                            .infer = infer,
                            .gradient = gradient,
                            .mutates = {3, 4, 5},
                            .kept_outputs = {1, 2},
                            .computes_low = true,
                            .f32_inputs = {1, 2, 3, 4}};
const OpDef batch_norm2d_gradient_op{.name = "batch_norm2d_gradient", .infer = infer_gradient};
const OpDef batch_norm2d_inference_op{.name = "batch_norm2d_inference", .infer = infer_inference, .computes_low = true, .f32_inputs = {1, 2, 3, 4}};

}  // namespace troika
