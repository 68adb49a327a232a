// conv2d: 2-d convolution [n, c, h, w] x [k, c / groups, kh, kw] -> [n, k, h', w'], with optional bias and fused ReLU.
#include "core/text.h"
#include "ops/op_def.h"
#include "ops/products.h"
#include "ops/window.h"

namespace troika {
namespace {

// Inputs: x, weight, bias or none. Attributes: kernel, stride, padding, dilation, groups, relu.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(3, 3);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const Window window = Window::of(in.node);
  window.check(in);
  const Shape &x = in.shape(0), &weight = in.shape(1);
  if (weight.rank() != 4 || weight[2] != window.kernel[0] || weight[3] != window.kernel[1])
    in.fail(text("weight has shape ", weight, ", needs [out, in / groups, ", window.kernel[0], ", ", window.kernel[1],
                 "]"));
  const int64_t groups = in.node.attributes.integer("groups");
  if (groups < 1 || x[1] % groups != 0 || weight[0] % groups != 0)
    in.fail(text("groups is ", groups, ", must divide ", x[1], " input and ", weight[0], " output channels"));
  if (weight[1] * groups != x[1]) in.fail(text("input has ", x[1], " channels, weight expects ", weight[1] * groups));
  if (in.has(2) && in.shape(2) != Shape{weight[0]})
    in.fail(text("bias has shape ", in.shape(2), ", needs [", weight[0], "]"));
  const Shape y{x[0], weight[0], window.out_size(0, x[2]), window.out_size(1, x[3])};
  if (y[2] < 1 || y[3] < 1)
    in.fail(text("input of ", x[2], " x ", x[3], " is smaller than the kernel's ", window.kernel[0], " x ",
                 window.kernel[1], " window"));
  return {{in.types[0].dtype, y}};
}

double operations(const Shape& y, const Shape& weight) {
  return 2.0 * static_cast<double>(y.elements()) * static_cast<double>(weight.elements() / weight[0]);
}

Cost cost(const OpInputs& in) { return {operations(infer(in)[0].shape, in.shape(1))}; }

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId x = node.inputs[product::x], weight = node.inputs[product::weight], bias = node.inputs[product::bias];
  const ValueId dz = b.through_relu(node, node.outputs[0], dy[0]);
  Attributes attributes = node.attributes;
  attributes.set("relu", int64_t{0});
  std::vector<ValueId> gradients(product::kInputs, kNoValue);
  // Weight gradients first: their bucket can travel while the input gradient is computed.
  if (b.needs(weight) || b.needs(bias)) {
    Attributes with_shape = attributes;
    with_shape.set("weight_shape", b.type(weight).shape.dims());
    with_shape.set("bias", int64_t{b.needs(bias)});
    const auto d = b.append_all(conv2d_weight_gradient_op, node, {x, dz}, with_shape);
    gradients[product::weight] = d[weight_gradient::dweight];
    if (b.needs(bias)) gradients[product::bias] = d[weight_gradient::dbias];
  }
  if (b.needs(x)) {
    attributes.set("input_shape", b.type(x).shape.dims());
    gradients[product::x] = b.append(conv2d_input_gradient_op, node, {weight, dz}, attributes);
  }
  return gradients;
}

// Inputs: weight, dy. Output: dx of `input_shape`.
std::vector<TensorType> infer_input_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return {{in.types[1].dtype, Shape(in.node.attributes.list("input_shape"))}};
}

Cost input_gradient_cost(const OpInputs& in) { return {operations(in.shape(1), in.shape(0))}; }

// Inputs: x, dy. Outputs, f32 whatever x is: dweight of `weight_shape`, and dbias [k] where `bias`.
std::vector<TensorType> infer_weight_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  const Shape weight(in.node.attributes.list("weight_shape"));
  std::vector<TensorType> types = {{DType::f32, weight}};
  if (in.node.attributes.flag("bias")) types.push_back({DType::f32, {weight[0]}});
  return types;
}

Cost weight_gradient_cost(const OpInputs& in) {
  return {operations(in.shape(1), Shape(in.node.attributes.list("weight_shape")))};
}

// Groups of channels are independent: they are not cut.
ChannelRule channel_rule(const Node& node) {
  return node.attributes.integer("groups") == 1 ? ChannelRule::product : ChannelRule::whole;
}

}  // namespace

const OpDef conv2d_op{.name = "conv2d",
                      .infer = infer,
                      .gradient = gradient,
                      .cost = cost,
                      .traits = LayerOp{.channels = channel_rule,
                                        .reach = Reach::window,
                                        .fuses_relu = true,
                                        .inference = InferenceForm{},
                                        .low = LowPrecision{true, {product::bias}},
                                        .has_product = true}};
const OpDef conv2d_input_gradient_op{.name = "conv2d_input_gradient",
                                     .infer = infer_input_gradient,
                                     .cost = input_gradient_cost,
                                     .traits = GradientOp{.is_of_weights = false, .has_product = true}};
const OpDef conv2d_weight_gradient_op{.name = "conv2d_weight_gradient",
                                      .infer = infer_weight_gradient,
                                      .cost = weight_gradient_cost,
                                      .traits = GradientOp{.is_of_weights = true, .has_product = true}};

}  // namespace troika
