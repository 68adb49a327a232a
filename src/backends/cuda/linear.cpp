// linear and its gradients: cuBLASLt's kernels, with bias and bias gradient in the product if they
// support them, else after it; and an own kernel for weight gradients of few outputs.
#include "core/text.h"
#include "ops/linear.h"

#include <array>

#include "backends/cuda/epilogue.h"
#include "backends/cuda/fastest_choice.h"
#include "backends/cuda/few_outputs.h"
#include "backends/cuda/matmul.h"

namespace troika::cuda {
namespace {

// A product's matrices a, b and d, and the bias or its gradient; null if there is none.
using Tensors = std::array<void*, 4>;

constexpr const char* kMaker = "cublaslt";

// The work after a product if cuBLASLt has no epilogue for it, by a pass of our own.
struct Rest {
  std::function<void(void* const* tensors, void* scratch, cudaStream_t)> launch;  // empty: nothing
  size_t scratch_bytes = 0;
};

bool is_tf32(const KernelRequest& r) { return r.node.attributes.flag("tf32"); }

// Whether cuBLASLt's kernels are measured. If not, its first choice is taken. That is good for
// small products of whole vectors of 16 bytes, and measuring takes some milliseconds. Other rows
// are read by few of its kernels, and it may choose badly among them: 72 us for [10, 1024] and
// [1024, 512] in bf16, whose bytes take 1 us. In large products the first choice is often not the
// best one. Products of a microsecond are not worth it: a server may have one for each batch size.
bool is_worth_measuring(const Product& p) {
  constexpr double kSmall = 1e6, kLarge = 1e9;  // operations: below a microsecond, a few microseconds
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const auto is_whole = [](int64_t row, DType dtype) { return row * static_cast<int64_t>(size_of(dtype)) % 16 == 0; };
  const bool is_odd =
      !is_whole(p.transpose_a ? p.m : p.k, p.in) || !is_whole(p.transpose_b ? p.k : p.n, p.in) || !is_whole(p.n, p.out);
  return operations >= (is_odd ? kSmall : kLarge);
}

// The ways of cuBLASLt. A launch has `count` tensors, and then scratch.
std::vector<Way> cublaslt_ways(const CudaDevice& device, const KernelRequest& request, const Product& product,
                               bool is_measured, size_t count, const Rest& rest) {
  constexpr int kMost = 64;  // more than cuBLASLt names
  if (device.is_plan_only()) return {{.name = "any", .describe = {}, .maker = kMaker}};
  std::vector<Way> ways;
  for (auto& made : make_matmuls(device, request, product, is_measured ? kMost : 1)) {
    const size_t workspace_bytes = workspace_of(made);
    const std::shared_ptr<Matmul> matmul = std::move(made);
    const bool has_rest = rest.launch && !matmul->has_epilogue();
    const size_t scratch_bytes = workspace_bytes + (has_rest ? rest.scratch_bytes : 0);
    const auto launch = [=](void* const* t, cudaStream_t stream) {
      auto* const scratch = scratch_bytes ? static_cast<std::byte*>(t[count]) : nullptr;
      matmul->run(t[0], t[1], t[2], matmul->has_epilogue() ? t[3] : nullptr, scratch, stream);
      if (has_rest) rest.launch(t, scratch + workspace_bytes, stream);
    };
    ways.push_back(
        {.name = matmul->name(), .describe = {}, .launch = launch, .scratch_bytes = scratch_bytes, .maker = kMaker});
  }
  return ways;
}

Problem problem_of(const CudaDevice& device, const KernelRequest& r, const Product& p) {
  Problem problem;
  problem.what = text(r.node.op, " '", r.node.name, "' on ", device.id());
  problem.text = text(r.node.op, ' ', name_of(p.in), " [", p.m, ", ", p.k, "] [", p.k, ", ", p.n, "] -> ",
                      name_of(p.out), p.tf32 ? ", tf32" : "", ", cuBLASLt ", cublasLtGetVersion());
  problem.outputs = {{.place = 2}};
  return problem;
}

}  // namespace

KernelChoice select_linear(CudaDevice& device, const KernelRequest& request) {
  using Epilogue = Product::Epilogue;
  const TensorType &x = input_type(request, 0), &weights = input_type(request, 1), &y = output_type(request, 0);
  const auto [rows, outputs] = LinearRows(request.node, y.shape);
  const bool bias = has_input(request, 2), relu = request.node.attributes.flag("relu");
  // cuBLASLt's bias has y's type, and ours is f32. Its ReLU may turn NaN into 0; our own pass then
  // takes the bias along.
  const bool has_epilogue = bias && !relu && y.dtype == DType::f32;
  const Product product{.m = rows,
                        .n = outputs,
                        .k = LinearRows(request.node, x.shape).features,
                        .transpose_b = true,
                        .in = x.dtype,
                        .out = y.dtype,
                        .tf32 = is_tf32(request),
                        .epilogue = has_epilogue ? Epilogue::add_bias : Epilogue::none};
  Rest rest;
  if (bias || relu)
    rest.launch = [=, dtype = y.dtype](void* const* t, void*, cudaStream_t stream) {
      add_bias_relu(dtype, t[2], bias ? static_cast<const float*>(t[3]) : nullptr, relu, rows, outputs, stream);
    };
  Problem problem = problem_of(device, request, product);
  problem.text += text(bias ? ", bias" : "", relu ? ", relu" : "");
  problem.tensors = {x, weights, y};
  if (bias) problem.tensors.push_back(input_type(request, 2));
  const auto ways = cublaslt_ways(device, request, product, is_worth_measuring(product), problem.tensors.size(), rest);
  return fastest_choice(device, request, problem, ways, plain_choice, [](const Arguments& a, cudaStream_t) -> Tensors {
    return {a.inputs[0], a.inputs[1], a.outputs[0], a.inputs[2]};
  });
}

KernelChoice select_linear_input_gradient(CudaDevice& device, const KernelRequest& request) {
  const TensorType &weights = input_type(request, 0), &dy = input_type(request, 1), &dx = output_type(request, 0);
  const LinearRows of_dy(request.node, dy.shape);
  const Product product{.m = of_dy.rows,
                        .n = LinearRows(request.node, dx.shape).features,
                        .k = of_dy.features,
                        .in = dy.dtype,
                        .out = dx.dtype,
                        .tf32 = is_tf32(request)};
  Problem problem = problem_of(device, request, product);
  problem.tensors = {dy, weights, dx};
  const auto ways = cublaslt_ways(device, request, product, is_worth_measuring(product), problem.tensors.size(), {});
  return fastest_choice(device, request, problem, ways, plain_choice, [](const Arguments& a, cudaStream_t) -> Tensors {
    return {a.inputs[1], a.inputs[0], a.outputs[0], nullptr};
  });
}

KernelChoice select_linear_weight_gradient(CudaDevice& device, const KernelRequest& request) {
  using Epilogue = Product::Epilogue;
  const TensorType &x = input_type(request, 0), &dy = input_type(request, 1), &dweights = output_type(request, 0);
  const DType dtype = dy.dtype;
  const auto [rows, outputs] = LinearRows(request.node, dy.shape);
  const int64_t features = LinearRows(request.node, x.shape).features;
  const bool bias = request.node.outputs.size() > 1, has_few = outputs <= FewOutputs::kMost;
  const Product product{.m = outputs,
                        .n = features,
                        .k = rows,
                        .transpose_a = true,
                        .in = dtype,
                        .out = DType::f32,
                        .tf32 = is_tf32(request),
                        .epilogue = bias ? Epilogue::sum_a : Epilogue::none};
  Rest rest;
  if (bias)
    rest = {[=](void* const* t, void* scratch, cudaStream_t stream) {
              sum_rows(dtype, t[0], static_cast<float*>(t[3]), rows, outputs, scratch, stream);
            },
            sum_rows_scratch_bytes(dtype, rows, outputs)};
  Problem problem = problem_of(device, request, product);
  problem.tensors = {dy, x, dweights};
  if (bias) {
    problem.text += ", bias";
    problem.tensors.push_back(output_type(request, 1));
    problem.outputs.push_back({.place = 3});
  }
  const size_t count = problem.tensors.size();
  auto ways = cublaslt_ways(device, request, product, has_few || is_worth_measuring(product), count, rest);
  if (has_few) {
    const FewOutputs sizes{rows, outputs, features};
    const size_t scratch_bytes = few_outputs_scratch_bytes(dtype, sizes);
    const auto launch = [=](void* const* t, cudaStream_t stream) {
      few_outputs_weight_gradient(dtype, sizes, t[0], t[1], static_cast<float*>(t[2]),
                                  bias ? static_cast<float*>(t[3]) : nullptr, scratch_bytes ? t[count] : nullptr,
                                  stream);
    };
    ways.push_back(
        {.name = "few_outputs1", .describe = {}, .launch = launch, .scratch_bytes = scratch_bytes, .must_prove = true});
  }
  return fastest_choice(device, request, problem, ways, plain_choice, [=](const Arguments& a, cudaStream_t) -> Tensors {
    return {a.inputs[1], a.inputs[0], a.outputs[0], bias ? a.outputs[1] : nullptr};
  });
}

}  // namespace troika::cuda
