// matmul by oneDNN, whose matrices are strided: a transposed one is read as it is stored.
#include "ops/matmul.h"

#include "backends/cpu/kernels.h"

namespace troika::cpu {
namespace {

// Describes `count` matrices [rows, columns], each stored row by row, or column by column.
Desc matrices_desc(int64_t count, int64_t rows, int64_t columns, bool is_transposed, DType dtype) {
  const Dims strides = {rows * columns, is_transposed ? 1 : columns, is_transposed ? rows : 1};
  return Desc({count, rows, columns}, onednn_type(dtype), strides);
}

}  // namespace

KernelChoice select_matmul(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &a = request.graph.type(node.inputs[0]), &b = request.graph.type(node.inputs[1]),
                   &y = request.graph.type(node.outputs[0]);
  const MatrixProducts p(node, a.shape, b.shape);
  if (p.count * p.m * p.n == 0 || p.k == 0) {
    auto zeros = [bytes = y.bytes()](void* const*, void* const* out, void*) {
      std::fill_n(static_cast<std::byte*>(out[0]), bytes, std::byte{0});
    };
    return uniform_choice(request, nullptr, "cpu:matmul_of_nothing", make_kernel(zeros));
  }
  const auto pd = matmul_forward(
      device.engine(), user_scratchpad(), matrices_desc(p.count, p.m, p.k, p.transpose_a, a.dtype),
      matrices_desc(p.count, p.k, p.n, p.transpose_b, b.dtype), matrices_desc(p.count, p.m, p.n, false, y.dtype));
  KernelChoice choice = onednn_choice(device, request, pd, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST});
  choice.input_layouts.assign(2, nullptr);  // the strides above are those of plain values
  choice.output_layouts.assign(1, nullptr);
  return choice;
}

}  // namespace troika::cpu
