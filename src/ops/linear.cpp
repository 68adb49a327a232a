// linear: y = x W^T + b, [n, ...] x [out, in] -> [n, out]; all but the batch counts as features. Optional bias, fused ReLU.
#include "core/text.h"
#include "ops/op_def.h"
#include "ops/products.h"

namespace troika {
namespace {

// Inputs: x, weight, bias or none. Attributes: relu.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(3, 3);
  const Shape &x = in.shape(0), &weight = in.shape(1);
  if (x.rank() < 2) in.fail(text("input has shape ", x, ", needs [batch, features]"));
  if (weight.rank() != 2) in.fail(text("weight has shape ", weight, ", needs [out, in]"));
  int64_t features = 1;
  for (int i = 1; i < x.rank(); ++i) features *= x[i];
  if (weight[1] != features) in.fail(text("input has ", features, " features, weight expects ", weight[1]));
  if (in.has(2) && in.shape(2) != Shape{weight[0]})
    in.fail(text("bias has shape ", in.shape(2), ", needs [", weight[0], "]"));
  return {{in.types[0].dtype, {x[0], weight[0]}}};
}

Cost cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(in.shape(0)[0]) * static_cast<double>(in.shape(1).elements())};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId x = node.inputs[product::x], weight = node.inputs[product::weight], bias = node.inputs[product::bias];
  const ValueId dz = b.through_relu(node, node.outputs[0], dy[0]);
  std::vector<ValueId> gradients(product::kInputs, kNoValue);
  if (b.needs(weight) || b.needs(bias)) {
    const auto d = b.append_all(linear_weight_gradient_op, node, {x, dz}, {{"bias", int64_t{b.needs(bias)}}});
    gradients[product::weight] = d[weight_gradient::dweight];
    if (b.needs(bias)) gradients[product::bias] = d[weight_gradient::dbias];
  }
  if (b.needs(x))
    gradients[product::x] =
        b.append(linear_input_gradient_op, node, {weight, dz}, {{"input_shape", b.type(x).shape.dims()}});
  return gradients;
}

// Inputs: weight, dy. Output: dx = dy W, of `input_shape`.
std::vector<TensorType> infer_input_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return {{in.types[1].dtype, Shape(in.node.attributes.list("input_shape"))}};
}

Cost input_gradient_cost(const OpInputs& in) {
  return {2.0 * static_cast<double>(in.shape(1)[0]) * static_cast<double>(in.shape(0).elements())};
}

// Inputs: x, dy. Outputs, f32 whatever x is: dweight = dy^T x [out, in], and dbias [out] where `bias`.
std::vector<TensorType> infer_weight_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  const Shape &x = in.shape(0), &dy = in.shape(1);
  int64_t features = 1;
  for (int i = 1; i < x.rank(); ++i) features *= x[i];
  std::vector<TensorType> types = {{DType::f32, {dy[1], features}}};
  if (in.node.attributes.flag("bias")) types.push_back({DType::f32, {dy[1]}});
  return types;
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
                                     .infer = infer_input_gradient,
                                     .cost = input_gradient_cost,
                                     .traits = GradientOp{.is_of_weights = false, .has_product = true}};
const OpDef linear_weight_gradient_op{.name = "linear_weight_gradient",
                                      .infer = infer_weight_gradient,
                                      .cost = weight_gradient_cost,
                                      .traits = GradientOp{.is_of_weights = true, .has_product = true}};

}  // namespace troika
