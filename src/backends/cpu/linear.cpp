// linear and its gradients by oneDNN's inner product, which takes an image [n, c, h, w] in any
// layout without flattening it.
#include "ops/linear.h"
#include "backends/cpu/kernels.h"

namespace troika::cpu {
namespace {

Dims matrix_dims(const Node& node, const Shape& shape) {
  const LinearRows rows(node, shape);
  return {rows.rows, rows.features};
}

// oneDNN knows 2 to 5 dimensions; any other rank, and a value per position, counts as [rows,
// features].
Dims image_dims(const Node& node, const Shape& x) {
  return x.rank() == 4 && !is_per_position(node) ? x.dims() : matrix_dims(node, x);
}

// Returns the dimensions of weights [out, in] with those of the input: [out, c, h, w].
Dims weight_dims(const Dims& x, int64_t out) {
  Dims dims = x;
  dims[0] = out;
  return dims;
}

Desc any_desc(const Dims& dims, DType dtype) { return Desc(dims, onednn_type(dtype), dnnl::memory::format_tag::any); }

// Describes an output, or its gradient.
Desc output_desc(const Node& node, const TensorType& type) {
  return plain_desc(Shape(matrix_dims(node, type.shape)), onednn_type(type.dtype));
}

// Returns the descriptor that the image must have had in the forward pass. It follows from the
// layout of the weights [out, c, h, w], so that the gradient gets the layout of the image.
Desc like_weights(const Node& node, const TensorType& image, const LayoutPtr& weight_layout) {
  const Dims dims = image_dims(node, image.shape);
  const auto type = onednn_type(image.dtype);
  if (dims.size() != 4 || !weight_layout) return plain_desc(Shape(dims), type);
  const Blocking b = blocking_of(desc_of(image, weight_layout));
  using Tag = dnnl::memory::format_tag;
  for (size_t i = 0; i < b.blocks.size(); ++i)
    if (b.block_axes[i] == 1 && (b.blocks[i] == 16 || b.blocks[i] == 8))
      return Desc(dims, type, b.blocks[i] == 16 ? Tag::nChw16c : Tag::nChw8c);
  return Desc(dims, type, b.dims.size() == 4 && b.strides[1] < b.strides[3] ? Tag::nhwc : Tag::nchw);
}

// Describes the input as it is stored, if oneDNN can read it so, else as oneDNN prefers.
Desc input_desc(const Node& node, const TensorType& type, const LayoutPtr& layout) {
  const Dims dims = image_dims(node, type.shape);
  return layout && !is_per_position(node) ? desc_of(type, layout) : plain_desc(Shape(dims), onednn_type(type.dtype));
}

}  // namespace

KernelChoice select_linear(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &y = request.graph.type(node.outputs[0]);
  const TensorType& weight = request.graph.type(node.inputs[1]);
  const bool bias = has_input(request, 2);
  const auto pd = linear_forward(device.engine(), user_scratchpad(), input_desc(node, x, request.input_layouts[0]),
                                 any_desc(weight_dims(image_dims(node, x.shape), weight.shape[0]), weight.dtype),
                                 bias ? plain_desc(Shape{weight.shape[0]}) : Desc(), output_desc(node, y));
  return onednn_choice(device, request, pd, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS}, {DNNL_ARG_DST});
}

KernelChoice select_linear_input_gradient(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType& weight = request.graph.type(node.inputs[0]);
  const TensorType &dy = request.graph.type(node.inputs[1]), &dx = request.graph.type(node.outputs[0]);
  const Desc dx_desc = like_weights(node, dx, request.input_layouts[0]), dy_desc = output_desc(node, dy),
             weight_desc = any_desc(weight_dims(image_dims(node, dx.shape), weight.shape[0]), weight.dtype);
  const auto hint = linear_forward(device.engine(), user_scratchpad(), dx_desc, weight_desc, Desc(), dy_desc);
  const auto pd = linear_backward_data(device.engine(), user_scratchpad(), dx_desc, weight_desc, dy_desc, hint);
  return onednn_choice(device, request, pd, {DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}, {DNNL_ARG_DIFF_SRC});
}

KernelChoice select_linear_weight_gradient(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &dy = request.graph.type(node.inputs[1]);
  const TensorType& weight = request.graph.type(node.outputs[0]);
  const bool bias = node.outputs.size() > 1;
  const Dims dims = weight_dims(image_dims(node, x.shape), weight.shape[0]);
  const Desc x_desc = input_desc(node, x, request.input_layouts[0]), weight_desc = any_desc(dims, weight.dtype),
             dy_desc = output_desc(node, dy);
  const Desc bias_desc = bias ? plain_desc(Shape{weight.shape[0]}) : Desc();
  // A weight's gradient may be wider than the weight.
  const auto hint =
      linear_forward(device.engine(), user_scratchpad(), x_desc, any_desc(dims, x.dtype), bias_desc, dy_desc);
  const auto pd =
      linear_backward_weights(device.engine(), user_scratchpad(), x_desc, weight_desc, bias_desc, dy_desc, hint);
  return onednn_choice(device, request, pd, {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST},
                       {DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS});
}

}  // namespace troika::cpu
