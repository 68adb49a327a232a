// matmul by cuBLASLt: a call per pair of matrices.
#include "backends/cuda/kernels.h"
#include "backends/cuda/matmul.h"
#include "core/text.h"
#include "ops/matmul.h"

namespace troika::cuda {

KernelChoice select_matmul(CudaDevice& device, const KernelRequest& request) {
  const TensorType &a = input_type(request, 0), &b = input_type(request, 1), &y = output_type(request, 0);
  const MatrixProducts p(request.node, a.shape, b.shape);
  if (p.count * p.m * p.n == 0 || p.k == 0)
    return plain_choice(request, "cuda:matmul_of_nothing",
                        make_kernel(device, [bytes = y.bytes()](const Arguments& arguments, cudaStream_t stream) {
                          if (bytes) check_launch(cudaMemsetAsync(arguments.outputs[0], 0, bytes, stream));
                        }));
  // Bytes from one matrix to the next.
  const size_t element = size_of(a.dtype);
  const size_t steps[] = {static_cast<size_t>(p.m * p.k) * element,
                          p.shares_b ? 0 : static_cast<size_t>(p.k * p.n) * element,
                          static_cast<size_t>(p.m * p.n) * size_of(y.dtype)};
  uint32_t alignment = kMatrixAlignment;
  for (const size_t step : steps)
    while (p.count > 1 && step % alignment != 0) alignment /= 2;
  auto matmul = make_matmul(device, request,
                            {.m = p.m,
                             .n = p.n,
                             .k = p.k,
                             .transpose_a = p.transpose_a,
                             .transpose_b = p.transpose_b,
                             .in = a.dtype,
                             .out = y.dtype,
                             .tf32 = request.node.attributes.flag("tf32"),
                             .alignment = alignment});
  const std::string name = text("cuda:cublaslt:", matmul ? matmul->name() : "any");
  const size_t scratch_bytes = workspace_of(matmul);
  auto kernel = make_kernel(device, [=, steps = std::to_array(steps), matmul = std::move(matmul)](
                                        const Arguments& arguments, cudaStream_t stream) {
    const auto* from_a = static_cast<const std::byte*>(arguments.inputs[0]);
    const auto* from_b = static_cast<const std::byte*>(arguments.inputs[1]);
    auto* to = static_cast<std::byte*>(arguments.outputs[0]);
    for (int64_t i = 0; i < p.count; ++i, from_a += steps[0], from_b += steps[1], to += steps[2])
      matmul->run(from_a, from_b, to, nullptr, arguments.scratch, stream);
  });
  KernelChoice choice = plain_choice(request, name, std::move(kernel));
  choice.scratch_bytes = scratch_bytes;
  return choice;
}

}  // namespace troika::cuda
