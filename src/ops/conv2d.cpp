// conv2d: 2-d convolution [n, c, h, w] x [k, c / groups, kh, kw] -> [n, k, h', w'], with optional
// bias, and fused ReLU and pooling.
#include "ops/addend.h"
#include "ops/fused_pool.h"
#include "ops/product_layer.h"
#include "ops/window.h"

namespace troika {
namespace {

// Returns the size of the image that a pooled one [n, k, h, w] was made from, if `node` pools.
Shape before_pool(const Node& node, const Shape& y) {
  const int64_t size = fused_pool_of(node) == FusedPool::none ? 1 : kFusedPoolSize;
  return {y[0], y[1], size * y[2], size * y[3]};
}

// Types of y and the mask, if conv2d pools its result.
std::vector<TensorType> pooled_types(const OpInputs& in, const TensorType& y) {
  if (in.node.attributes.has("sums")) in.fail("returns sums of its result, and pools it; needs one of the two");
  const Shape &shape = y.shape, pooled{shape[0], shape[1], shape[2] / kFusedPoolSize, shape[3] / kFusedPoolSize};
  if (before_pool(in.node, pooled) != shape)
    in.fail(text("pools an image of ", shape[2], " x ", shape[3], ", needs even sizes"));
  return {{y.dtype, pooled}, fused_pool_mask(pooled)};
}

// Throws unless there is the mask of dy, if the gradient has one.
void check_mask(const OpInputs& in, size_t mask, const Shape& dy) {
  if (fused_pool_of(in.node) == FusedPool::none) return;
  const TensorType need = fused_pool_mask(dy);
  if (in.types[mask] != need)
    in.fail(text("has a mask of ", name_of(in.types[mask].dtype), in.shape(mask), ", need ", name_of(need.dtype),
                 need.shape));
}

// Whether the kernel applies the batch_norm2d and the ReLU before it to x.
bool normalizes(const Node& node) { return node.attributes.flag("normalizes"); }

// Throws unless the inputs from `first` on are those of that batch_norm2d of x: four of f32 [c].
void check_norm(const OpInputs& in, size_t first) {
  if (!normalizes(in.node)) return;
  if (fused_pool_of(in.node) != FusedPool::none) in.fail("normalizes x, and pools y; needs one of the two");
  const TensorType channel{DType::f32, {in.shape(0)[1]}};
  for (size_t i = first; i < first + 4; ++i)
    if (in.types[i] != channel)
      in.fail(text("normalizes x by ", name_of(in.types[i].dtype), in.shape(i), ", need ", name_of(channel.dtype),
                   channel.shape));
}

// Inputs: see product::Input. Attributes: kernel, stride, padding, dilation, groups, relu, and
// `pool`, `plain_pool`, `sums` and `normalizes` or none. Outputs: y. If `pool` is there, y is
// pooled, and its mask follows. If `sums` is there, f32 [sums, 2 k + 1] follows, whose rows are the
// moments of parts of y as in batch_norm2d_moments: {values per channel, means [k], sums of squared
// differences from the means [k]}.
std::vector<TensorType> infer(const OpInputs& in) {
  const size_t inputs = normalizes(in.node) ? product::kAllInputs : product::kInputs;
  in.need_inputs(inputs, inputs);
  in.need_rank(0, 4, "[batch, channels, height, width]");
  check_norm(in, product::norm_weight);
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
  check_bias(in, weight[0]);
  const Shape y{x[0], weight[0], window.out_size(0, x[2]), window.out_size(1, x[3])};
  if (y[2] < 1 || y[3] < 1)
    in.fail(text("input of ", x[2], " x ", x[3], " is smaller than the kernel's ", window.kernel[0], " x ",
                 window.kernel[1], " window"));
  std::vector<TensorType> types = {{in.types[0].dtype, y}};
  if (fused_pool_of(in.node) != FusedPool::none) return pooled_types(in, types[0]);
  if (!in.node.attributes.has("sums")) return types;
  if (in.has(product::bias) || in.node.attributes.flag("relu"))
    in.fail("returns sums of its result, and has a bias or a ReLU; needs neither");
  types.push_back({DType::f32, {in.node.attributes.integer("sums"), 2 * weight[0] + 1}});
  return types;
}

double operations(const Shape& y, const Shape& weight) {
  return 2.0 * static_cast<double>(y.elements()) * static_cast<double>(weight.elements() / weight[0]);
}

Cost cost(const OpInputs& in) { return {operations(before_pool(in.node, infer(in)[0].shape), in.shape(1))}; }

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  Attributes window = node.attributes;
  window.set("relu", int64_t{0});
  Attributes with_shape = window;
  with_shape.set("weight_shape", b.type(node.inputs[product::weight]).shape.dims());
  return append_product_gradients(b, node, dy[0], {conv2d_weight_gradient_op, with_shape},
                                  {conv2d_input_gradient_op, window});
}

// Inputs: see input_gradient::Input. Outputs: dx, and, if `sums` is there, f32 [sums, 2 c + 1],
// whose rows are sums over parts of dx as in batch_norm2d_gradient_sums: {values per channel, sums
// of dx [c], of dx (x - mean) [c]}.
std::vector<TensorType> infer_input_gradient(const OpInputs& in) {
  using namespace input_gradient;
  const bool has_sums = in.node.attributes.has("sums"), has_pool = fused_pool_of(in.node) != FusedPool::none;
  if (has_sums && has_pool) in.fail("returns sums of its result, and reads a pooled gradient; needs one of the two");
  const size_t inputs = has_pool ? pool_mask + 1 : kInputs;
  in.need_inputs(has_sums ? addend : inputs, has_sums ? kAllInputs : inputs);
  check_mask(in, pool_mask, in.shape(dy));
  const Shape shape(in.node.attributes.list("input_shape"));
  std::vector<TensorType> types = {{in.types[dy].dtype, shape}};
  if (!has_sums) return types;
  const TensorType mask{DType::u8, {shape.elements() / 8}};
  const auto need = [&](size_t i, const TensorType& type) {
    if (in.types[i] != type)
      in.fail(text("has a batch_norm2d of ", name_of(in.types[i].dtype), in.shape(i), ", need ", name_of(type.dtype),
                   type.shape));
  };
  need(norm_x, types[0]);
  if (in.has(norm_y) || in.has(addend)) need(norm_y, in.has(addend) ? mask : types[0]);
  const int64_t stride = addend_stride_of(in.node);
  if (stride < 1) in.fail(text("has an addend_stride of ", stride, ", need 1 or more"));
  if (in.has(addend)) need(addend, addend_type(types[0], stride));
  types.push_back({DType::f32, {in.node.attributes.integer("sums"), 2 * shape[1] + 1}});
  return types;
}

Cost input_gradient_cost(const OpInputs& in) { return {operations(before_pool(in.node, in.shape(1)), in.shape(0))}; }

// The weight's gradient has dy's type if `rounded` is set.
std::vector<TensorType> infer_weight_gradient(const OpInputs& in) {
  using namespace weight_gradient;
  const bool has_pool = fused_pool_of(in.node) != FusedPool::none;
  const size_t inputs = has_pool ? size_t{pool_mask} + 1 : normalizes(in.node) ? kAllInputs : kInputs;
  in.need_inputs(inputs, inputs);
  check_mask(in, pool_mask, in.shape(dy));
  check_norm(in, norm_weight);
  auto types = product_weight_gradient_types(in, Shape(in.node.attributes.list("weight_shape")));
  if (in.node.attributes.flag("rounded")) types[weight_gradient::dweight].dtype = in.types[weight_gradient::dy].dtype;
  return types;
}

Cost weight_gradient_cost(const OpInputs& in) {
  return {operations(before_pool(in.node, in.shape(1)), Shape(in.node.attributes.list("weight_shape")))};
}

// Groups of channels are independent, and are not cut.
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
