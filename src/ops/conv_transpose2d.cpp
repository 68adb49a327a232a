// conv_transpose2d: the transposed convolution, [n, c, h, w] x [c, k / groups, kh, kw] -> [n, k,
// h', w']. The input gradient of a convolution from y to x with the same window and weight.
#include "core/text.h"
#include "ops/op_def.h"
#include "ops/products.h"
#include "ops/window.h"

namespace troika {
namespace {

// Inputs: weight, x. Attributes: kernel, stride, padding, dilation, groups; output_padding, rows
// and columns that the output has in addition, fewer than a step of the window.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  in.need_rank(input_gradient::dy, 4, "[batch, channels, height, width]");
  const Window w = Window::of(in.node);
  w.check(in);
  const Shape &weight = in.shape(input_gradient::weight), &x = in.shape(input_gradient::dy);
  const int64_t groups = in.node.attributes.integer("groups");
  if (weight.rank() != 4 || weight[0] != x[1] || weight[2] != w.kernel[0] || weight[3] != w.kernel[1])
    in.fail(
        text("weight has shape ", weight, ", needs [", x[1], ", out / groups, ", w.kernel[0], ", ", w.kernel[1], "]"));
  if (groups < 1 || x[1] % groups != 0) in.fail(text("groups is ", groups, ", must divide ", x[1], " channels"));
  const std::vector<int64_t>& more = in.node.attributes.list("output_padding");
  Shape y{x[0], weight[1] * groups, 0, 0};
  for (int i = 0; i < 2; ++i) {
    const auto rest = more.size() == 2 ? more[static_cast<size_t>(i)] : 0;
    if (rest < 0 || rest >= w.stride[i])
      in.fail(text("output_padding is ", rest, ", needs 0 to below the stride ", w.stride[i]));
    y[2 + i] = (x[2 + i] - 1) * w.stride[i] - 2 * w.padding[i] + w.dilation[i] * (w.kernel[i] - 1) + 1 + rest;
    if (y[2 + i] < 1) in.fail(text("padding ", w.padding[i], " leaves nothing of the output"));
  }
  return {{in.types[input_gradient::dy].dtype, y}};
}

Cost cost(const OpInputs& in) {
  const Shape& weight = in.shape(input_gradient::weight);
  return {2.0 * static_cast<double>(in.shape(input_gradient::dy).elements()) *
          static_cast<double>(weight.elements() / weight[0])};
}

// dx is the convolution of dy; the weight's gradient is that of this convolution.
std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId weight = node.inputs[input_gradient::weight], x = node.inputs[input_gradient::dy];
  Attributes window;
  for (const char* name : {"kernel", "stride", "padding", "dilation"}) window.set(name, node.attributes.list(name));
  window.set("groups", node.attributes.integer("groups"));
  std::vector<ValueId> gradients(2, kNoValue);
  if (b.needs(weight)) {
    Attributes of_weight = window;
    of_weight.set("weight_shape", b.type(weight).shape.dims());
    of_weight.set("bias", int64_t{0});
    gradients[input_gradient::weight] = b.append(conv2d_weight_gradient_op, node, {dy[0], x}, of_weight);
  }
  if (b.needs(x)) gradients[input_gradient::dy] = b.append(conv2d_op, node, {dy[0], weight, kNoValue}, window);
  return gradients;
}

}  // namespace

const OpDef conv_transpose2d_op{.name = "conv_transpose2d",
                                .infer = infer,
                                .gradient = gradient,
                                .cost = cost,
                                .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                                  .reach = Reach::whole,
                                                  .fuses_relu = false,
                                                  .inference = InferenceForm{},
                                                  .low = LowPrecision{true},
                                                  .has_product = true}};

}  // namespace troika
