// linear: y = x W^T + b, [n, ...] x [out, in] -> [n, out]; all but the batch counts as features. Optional bias, fused ReLU.
#include "ops/product_layer.h"

namespace troika {
namespace {

// Numbers of one sample.
int64_t features_of(const Shape& x) {
  int64_t features = 1;
  for (int i = 1; i < x.rank(); ++i) features *= x[i];
  return features;
}

// Inputs: x, weight, bias or none. Attributes: relu.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(3, 3);
  const Shape &x = in.shape(0), &weight = in.shape(1);
  if (x.rank() < 2) in.fail(text("input has shape ", x, ", needs [batch, features]"));
  if (weight.rank() != 2) in.fail(text("weight has shape ", weight, ", needs [out, in]"));
  const int64_t features = features_of(x);
  if (weight[1] != features) in.fail(text("input has ", features, " features, weight expects ", weight[1]));
  check_bias(in, weight[0]);
  return {{in.types[0].dtype, {x[0], weight[0]}}};
}

Cost cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(in.shape(0)[0]) * static_cast<double>(in.shape(1).elements())};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return append_product_gradients(b, node, dy[0], {linear_weight_gradient_op, {}}, {linear_input_gradient_op, {}});
}

Cost input_gradient_cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(in.shape(1)[0]) * static_cast<double>(in.shape(0).elements())};
}

// dweight = dy^T x [out, in].
std::vector<TensorType> infer_weight_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return product_weight_gradient_types(in, {in.shape(1)[1], features_of(in.shape(0))});
}

Cost weight_gradient_cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(in.shape(0).elements()) * static_cast<double>(in.shape(1)[1])};
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
                                        .low = LowPrecision{true, {product::bias}},
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
