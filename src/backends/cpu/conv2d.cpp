// conv2d and its gradients by oneDNN, unless own kernels are faster; layouts are left to oneDNN, so
// that blocked ones flow from layer to layer.
#include "backends/cpu/columns_conv2d.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/windows_conv2d.h"
#include "backends/cpu/winograd_conv2d.h"
#include "ops/window.h"

namespace troika::cpu {
namespace {

// oneDNN's description of the convolution; weights in whatever layout it likes, images in
// `image_tag`.
ConvSettings settings_of(const Node& node, const TensorType& x_type, const TensorType& weight_type,
                         const TensorType& y_type, bool bias, dnnl::memory::format_tag image_tag) {
  const Shape &x = x_type.shape, &weight = weight_type.shape, &y = y_type.shape;
  const auto x_dtype = onednn_type(x_type.dtype), weight_dtype = onednn_type(weight_type.dtype);
  const Window w = Window::of(node);
  const int64_t groups = node.attributes.integer("groups");
  const auto any = dnnl::memory::format_tag::any;
  ConvSettings s;
  // An image of few channels is the network's own input and is best read as it comes.
  s.x = x[1] <= 4 && image_tag == any ? plain_desc(x, x_dtype) : Desc(x.dims(), x_dtype, image_tag);
  // Weights [k, c / groups, kh, kw] are [groups, k / groups, c / groups, kh, kw] there.
  s.weight = groups == 1 ? Desc(weight.dims(), weight_dtype, any)
                         : Desc(Dims{groups, weight[0] / groups, weight[1], weight[2], weight[3]}, weight_dtype, any);
  if (bias) s.bias = plain_desc({weight[0]});
  s.y = Desc(y.dims(), onednn_type(y_type.dtype), image_tag);
  s.stride = {w.stride[0], w.stride[1]};
  s.dilation = {w.dilation[0] - 1, w.dilation[1] - 1};
  s.padding_before = {w.padding[0], w.padding[1]};
  // The remainder of the last window on the far side may be less than the padding, or negative.
  for (int i = 0; i < 2; ++i)
    s.padding_after.push_back((y[i + 2] - 1) * w.stride[i] + w.dilation[i] * (w.kernel[i] - 1) + 1 - x[i + 2] -
                              w.padding[i]);
  return s;
}

// Blocks of 16 channels waste work if channel counts fill them badly: 20 and 50 channels become 32
// and 64. Images of up to 4 channels have kernels of their own.
bool fills_blocks_badly(const Shape& weight, int64_t groups) {
  constexpr double kTolerated = 1.15;
  auto padded = [](int64_t c) { return (c + 15) / 16 * 16; };
  const int64_t c = weight[1], k = weight[0];
  const double waste = static_cast<double>(padded(k)) / static_cast<double>(k) *
                       (c <= 4 ? 1.0 : static_cast<double>(padded(c)) / static_cast<double>(c));
  return groups == 1 && waste > kTolerated;
}

// Returns the first primitive descriptor from `make` that is not oneDNN's slow reference: channels
// last if blocks are filled badly, else the layout that oneDNN prefers.
template <typename Make>
auto first_fast(bool channels_last, Make&& make) {
  if (channels_last) try {
      auto pd = make(dnnl::memory::format_tag::nhwc);
      if (!std::string_view(pd.impl_info_str()).starts_with("ref")) return pd;
    } catch (const dnnl::error& e) {
      if (e.status != dnnl_unimplemented) throw;
    }
  return make(dnnl::memory::format_tag::any);
}

}  // namespace

KernelChoice select_conv2d(const CpuDevice& device, const KernelRequest& request) {
  if (takes_windows(request, has_amx())) return windows_conv2d(device, request);
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &weight = request.graph.type(node.inputs[1]);
  const TensorType& y = request.graph.type(node.outputs[0]);
  const bool bias = has_input(request, 2);
  const auto pd = first_fast(
      fills_blocks_badly(weight.shape, node.attributes.integer("groups")), [&](dnnl::memory::format_tag tag) {
        return conv_forward(device.engine(), user_scratchpad(), settings_of(node, x, weight, y, bias, tag));
      });
  if (x.dtype == DType::f32)
    if (const int64_t block = winograd_block(node, x.shape, weight.shape, y.shape, pd))
      return winograd_conv2d(request, block);
  return onednn_choice(device, request, pd, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS}, {DNNL_ARG_DST});
}

KernelChoice select_conv2d_input_gradient(const CpuDevice& device, const KernelRequest& request) {
  if (takes_windows(request, has_amx())) return windows_conv2d_input_gradient(device, request);
  const Node& node = request.node;
  const TensorType &weight = request.graph.type(node.inputs[0]), &dy = request.graph.type(node.inputs[1]);
  const TensorType& dx = request.graph.type(node.outputs[0]);
  const bool fills_badly = fills_blocks_badly(weight.shape, node.attributes.integer("groups"));
  const auto pd = first_fast(fills_badly, [&](dnnl::memory::format_tag tag) {
    const ConvSettings settings = settings_of(node, dx, weight, dy, false, tag);
    return conv_backward_data(device.engine(), user_scratchpad(), settings,
                              conv_forward(device.engine(), user_scratchpad(), settings));
  });
  if (dx.dtype == DType::f32) {
    if (const int64_t block = winograd_block(node, dx.shape, weight.shape, dy.shape, pd))
      return winograd_conv2d_input_gradient(request, block);
    if (fills_badly) return columns_conv2d_input_gradient(request);
  }
  return onednn_choice(device, request, pd, {DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_SRC});
}

KernelChoice select_conv_transpose2d(const CpuDevice& device, const KernelRequest& request) {
  return select_conv2d_input_gradient(device, request);
}

KernelChoice select_conv2d_weight_gradient(const CpuDevice& device, const KernelRequest& request) {
  if (takes_windows(request, has_amx())) return windows_conv2d_weight_gradient(device, request);
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &dy = request.graph.type(node.inputs[1]);
  const TensorType& weight = request.graph.type(node.outputs[0]);
  const bool bias = node.outputs.size() > 1;
  const auto pd = first_fast(
      fills_blocks_badly(weight.shape, node.attributes.integer("groups")), [&](dnnl::memory::format_tag tag) {
        // A weight's gradient may be wider than the weight.
        const auto forward = conv_forward(device.engine(), user_scratchpad(),
                                          settings_of(node, x, {x.dtype, weight.shape}, dy, bias, tag));
        return conv_backward_weights(device.engine(), user_scratchpad(), settings_of(node, x, weight, dy, bias, tag),
                                     forward);
      });
  if (x.dtype == DType::f32)
    if (const int64_t block = winograd_block(node, x.shape, weight.shape, dy.shape, pd))
      return winograd_conv2d_weight_gradient(request, block);
  return onednn_choice(device, request, pd, {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST},
                       {DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS});
}

}  // namespace troika::cpu
