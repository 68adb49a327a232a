// linear: y = x W^T + b, [n, ...] x [out, in] -> [n, out]: all axes except the batch are features.
// Per position: [n, steps, in] x [out, in] -> [n, steps, out]: only the last axis is features.
// Optional bias, fused ReLU.
#include "ops/linear.h"

#include "ops/product_layer.h"

namespace troika {
namespace {

// Inputs: x, weight, bias or none. Attributes: relu, per_position, f32_output.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(3, 3);
  const Shape &x = in.shape(0), &weight = in.shape(1);
  if (x.rank() < 2) in.fail(text("input has shape ", x, ", needs [batch, features]"));
  if (is_per_position(in.node) && x.rank() != 3)
    in.fail(text("input has shape ", x, ", needs [batch, steps, features]"));
  if (weight.rank() != 2) in.fail(text("weight has shape ", weight, ", needs [out, in]"));
  const int64_t features = LinearRows(in.node, x).features;
  if (weight[1] != features) in.fail(text("input has ", features, " features, weight expects ", weight[1]));
  check_bias(in, weight[0]);
  std::vector<int64_t> dims = {x[0]};
  if (is_per_position(in.node)) dims.assign(x.dims().begin(), x.dims().end() - 1);
  dims.push_back(weight[0]);
  const DType dtype = in.node.attributes.flag("f32_output") ? DType::f32 : in.types[0].dtype;
  return {{dtype, Shape(std::move(dims))}};
}

Cost cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(LinearRows(in.node, in.shape(0)).rows) *
          static_cast<double>(in.shape(1).elements())};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  Attributes attributes;
  if (is_per_position(node)) attributes.set("per_position", int64_t{1});
  return append_product_gradients(b, node, dy[0], {linear_weight_gradient_op, attributes},
                                  {linear_input_gradient_op, attributes});
}

Cost input_gradient_cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(LinearRows(in.node, in.shape(1)).rows) *
          static_cast<double>(in.shape(0).elements())};
}

// dweight = dy^T x [out, in].
std::vector<TensorType> infer_weight_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return product_weight_gradient_types(
      in, {LinearRows(in.node, in.shape(1)).features, LinearRows(in.node, in.shape(0)).features});
}

Cost weight_gradient_cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(in.shape(0).elements()) *
          static_cast<double>(LinearRows(in.node, in.shape(1)).features)};
}

}  // namespace

const OpDef linear_op{.name = "linear",
                      .infer = infer,
                      .gradient = gradient,
                      .cost = cost,
                      .traits = LayerOp{.channels = always<ChannelRule::product>,
                                        .reach = Reach::whole,
                                        .fuses_relu = true,
                                        .inference = InferenceForm{},
                                        .low = LowPrecision{true, {product::bias}, true},
                                        .has_product = true}};
const OpDef linear_input_gradient_op{.name = "linear_input_gradient",
                                     .infer = infer_product_input_gradient,
                                     .cost = input_gradient_cost,
                                     .traits = GradientOp{.is_of_weights = false, .has_product = true}};
const OpDef linear_weight_gradient_op{.name = "linear_weight_gradient",
                                      .infer = infer_weight_gradient,
                                      .cost = weight_gradient_cost,
                                      .traits = GradientOp{.is_of_weights = true, .has_product = true}};

}  // namespace troika
