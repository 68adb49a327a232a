// max_pool2d, avg_pool2d and adaptive_avg_pool2d over [n, c, h, w], and their gradients.
#include "core/text.h"
#include "ops/op_def.h"
#include "ops/window.h"

namespace troika {
namespace {

Shape pooled(const OpInputs& in) {
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const Window window = Window::of(in.node);
  window.check(in);
  const Shape& x = in.shape(0);
  for (int i = 0; i < 2; ++i)
    if (2 * window.padding[i] > window.kernel[i])
      in.fail(text("padding is ", window.padding[i], ", may be at most half the kernel's ", window.kernel[i]));
  const Shape y{x[0], x[1], window.out_size(0, x[2]), window.out_size(1, x[3])};
  if (y[2] < 1 || y[3] < 1)
    in.fail(text("input of ", x[2], " x ", x[3], " is smaller than the ", window.kernel[0], " x ", window.kernel[1],
                 " window"));
  return y;
}

// Input: x. Outputs: y, and the place of each maximum, as indices whose meaning is the backend's
// own.
std::vector<TensorType> infer_max(const OpInputs& in) {
  in.need_inputs(1, 1);
  const Shape y = pooled(in);
  return {{in.types[0].dtype, y}, {DType::i32, y}};
}

std::vector<ValueId> max_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  Attributes attributes = node.attributes;
  attributes.set("input_shape", b.type(node.inputs[0]).shape.dims());
  return {b.append(max_pool2d_gradient_op, node, {node.outputs[1], dy[0]}, attributes)};
}

// Attribute count_include_pad: whether padding counts in the mean.
std::vector<TensorType> infer_avg(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {{in.types[0].dtype, pooled(in)}};
}

std::vector<ValueId> avg_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  Attributes attributes = node.attributes;
  attributes.set("input_shape", b.type(node.inputs[0]).shape.dims());
  return {b.append(avg_pool2d_gradient_op, node, {dy[0]}, attributes)};
}

// Attribute size: {height, width}. Window i of `out` over `in` is floor(i in / out) to ceil((i + 1)
// in / out).
std::vector<TensorType> infer_adaptive(const OpInputs& in) {
  in.need_inputs(1, 1);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  const auto& size = in.node.attributes.list("size");
  if (size.size() != 2) in.fail(text("output size has ", size.size(), " numbers, needs 2"));
  if (size[0] < 1 || size[1] < 1) in.fail(text("output size is ", size[0], " x ", size[1], ", needs at least 1 x 1"));
  return {{in.types[0].dtype, {in.shape(0)[0], in.shape(0)[1], size[0], size[1]}}};
}

std::vector<ValueId> adaptive_gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  return {
      b.append(adaptive_avg_pool2d_gradient_op, node, {dy[0]}, {{"input_shape", b.type(node.inputs[0]).shape.dims()}})};
}

// Inputs: the places of the maxima if there are some, dy, and maybe the output of a ReLU, which is
// the pooling's input: then the gradient is that of the ReLU's input (passes/fuse_relus.cpp). The
// output has `input_shape`.
std::vector<TensorType> infer_gradient(const OpInputs& in, size_t fewest) {
  in.need_inputs(fewest, fewest + 1);
  const TensorType dx{in.types[fewest - 1].dtype, Shape(in.node.attributes.list("input_shape"))};
  if (in.types.size() > fewest && in.types.back() != dx)
    in.fail(text("the ReLU's output is ", name_of(in.types.back().dtype), in.types.back().shape, ", needs ",
                 name_of(dx.dtype), dx.shape));
  return {dx};
}

std::vector<TensorType> infer_max_gradient(const OpInputs& in) { return infer_gradient(in, 2); }
std::vector<TensorType> infer_average_gradient(const OpInputs& in) { return infer_gradient(in, 1); }

}  // namespace

const OpDef max_pool2d_op{.name = "max_pool2d",
                          .infer = infer_max,
                          .gradient = max_gradient,
                          .traits = LayerOp{.channels = always<ChannelRule::per_channel>,
                                            .reach = Reach::window,
                                            .fuses_relu = false,
                                            .inference = InferenceForm{},
                                            .low = LowPrecision{true},
                                            .has_product = false}};
const OpDef max_pool2d_gradient_op{.name = "max_pool2d_gradient",
                                   .infer = infer_max_gradient,
                                   .traits = GradientOp{.is_of_weights = false, .has_product = false}};
const OpDef avg_pool2d_op{.name = "avg_pool2d",
                          .infer = infer_avg,
                          .gradient = avg_gradient,
                          .traits = LayerOp{.channels = always<ChannelRule::per_channel>,
                                            .reach = Reach::window,
                                            .fuses_relu = false,
                                            .inference = InferenceForm{},
                                            .low = LowPrecision{true},
                                            .has_product = false}};
const OpDef avg_pool2d_gradient_op{.name = "avg_pool2d_gradient",
                                   .infer = infer_average_gradient,
                                   .traits = GradientOp{.is_of_weights = false, .has_product = false}};
const OpDef adaptive_avg_pool2d_op{.name = "adaptive_avg_pool2d",
                                   .infer = infer_adaptive,
                                   .gradient = adaptive_gradient,
                                   .traits = LayerOp{.channels = always<ChannelRule::per_channel>,
                                                     .reach = Reach::whole,
                                                     .fuses_relu = false,
                                                     .inference = InferenceForm{},
                                                     .low = LowPrecision{true},
                                                     .has_product = false}};
const OpDef adaptive_avg_pool2d_gradient_op{.name = "adaptive_avg_pool2d_gradient",
                                            .infer = infer_average_gradient,
                                            .traits = GradientOp{.is_of_weights = false, .has_product = false}};

}  // namespace troika
