// linear and its gradients by cuBLASLt, with bias and bias gradient in the product if it supports
// them, else after it.
#include "ops/linear.h"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/matmul.h"

namespace troika::cuda {
namespace {

bool is_tf32(const KernelRequest& r) { return r.node.attributes.flag("tf32"); }

std::string name_with(const std::unique_ptr<Matmul>& matmul) {
  return text("cuda:cublaslt:", matmul ? matmul->name() : "any");
}

}  // namespace

KernelChoice select_linear(CudaDevice& device, const KernelRequest& request) {
  using Epilogue = Product::Epilogue;
  const TensorType &x = input_type(request, 0), &y = output_type(request, 0);
  const auto [rows, outputs] = LinearRows(request.node, y.shape);
  const bool bias = has_input(request, 2), relu = request.node.attributes.flag("relu");
  // cuBLASLt's bias has y's type, and ours is f32. Its ReLU may turn NaN into 0; our own pass then
  // takes the bias along.
  const bool has_epilogue = bias && !relu && y.dtype == DType::f32;
  auto matmul = make_matmul(device, request,
                            {.m = rows,
                             .n = outputs,
                             .k = LinearRows(request.node, x.shape).features,
                             .transpose_b = true,
                             .in = x.dtype,
                             .out = y.dtype,
                             .tf32 = is_tf32(request),
                             .epilogue = has_epilogue ? Epilogue::add_bias : Epilogue::none});
  const bool adds_bias = matmul && matmul->has_epilogue();
  const std::string name = name_with(matmul);
  const size_t scratch_bytes = workspace_of(matmul);
  auto kernel =
      make_kernel(device, [=, dtype = y.dtype, matmul = std::move(matmul)](const Arguments& a, cudaStream_t stream) {
        matmul->run(a.inputs[0], a.inputs[1], a.outputs[0], a.inputs[2], a.scratch, stream);
        if (!adds_bias) add_bias_relu(dtype, a.outputs[0], a.in<float>(2), relu, rows, outputs, stream);
      });
  KernelChoice choice = plain_choice(request, name, std::move(kernel));
  choice.scratch_bytes = scratch_bytes;
  return choice;
}

KernelChoice select_linear_input_gradient(CudaDevice& device, const KernelRequest& request) {
  const TensorType &dy = input_type(request, 1), &dx = output_type(request, 0);
  const LinearRows of_dy(request.node, dy.shape);
  auto matmul = make_matmul(device, request,
                            {.m = of_dy.rows,
                             .n = LinearRows(request.node, dx.shape).features,
                             .k = of_dy.features,
                             .in = dy.dtype,
                             .out = dx.dtype,
                             .tf32 = is_tf32(request)});
  const std::string name = name_with(matmul);
  const size_t scratch_bytes = workspace_of(matmul);
  auto kernel = make_kernel(device, [matmul = std::move(matmul)](const Arguments& a, cudaStream_t stream) {
    matmul->run(a.inputs[1], a.inputs[0], a.outputs[0], nullptr, a.scratch, stream);
  });
  KernelChoice choice = plain_choice(request, name, std::move(kernel));
  choice.scratch_bytes = scratch_bytes;
  return choice;
}

KernelChoice select_linear_weight_gradient(CudaDevice& device, const KernelRequest& request) {
  using Epilogue = Product::Epilogue;
  const TensorType &x = input_type(request, 0), &dy = input_type(request, 1);
  const DType dtype = dy.dtype;
  const auto [rows, outputs] = LinearRows(request.node, dy.shape);
  const bool bias = request.node.outputs.size() > 1;
  auto matmul = make_matmul(device, request,
                            {.m = outputs,
                             .n = LinearRows(request.node, x.shape).features,
                             .k = rows,
                             .transpose_a = true,
                             .in = dtype,
                             .out = DType::f32,
                             .tf32 = is_tf32(request),
                             .epilogue = bias ? Epilogue::sum_a : Epilogue::none});
  const bool sums_apart = bias && !(matmul && matmul->has_epilogue());
  const std::string name = name_with(matmul);
  const size_t workspace_bytes = workspace_of(matmul);  // before that of the sums
  auto kernel = make_kernel(device, [=, matmul = std::move(matmul)](const Arguments& a, cudaStream_t stream) {
    float* const dbias = bias ? a.out<float>(1) : nullptr;
    matmul->run(a.inputs[1], a.inputs[0], a.outputs[0], dbias, a.scratch, stream);
    if (sums_apart)
      sum_rows(dtype, a.inputs[1], dbias, rows, outputs, static_cast<std::byte*>(a.scratch) + workspace_bytes, stream);
  });
  KernelChoice choice = plain_choice(request, name, std::move(kernel));
  choice.scratch_bytes = workspace_bytes + (sums_apart ? sum_rows_scratch_bytes(dtype, rows, outputs) : 0);
  return choice;
}

}  // namespace troika::cuda
