// Ways of the kernels for images of one channel.
#include "backends/cuda/stem_ways.h"

#include "backends/cuda/fastest_choice.h"
#include "backends/cuda/stem_conv2d.h"
#include "backends/cuda/stem_mma.h"
#include "ops/products.h"

namespace troika::cuda {
namespace {

// Its number changes with the kernels, so that what was measured before is forgotten.
constexpr const char* kMmaName = "stem_mma2";

}  // namespace

std::vector<Way> stem_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias, bool relu,
                           const LaunchWay& add_moments, size_t moment_bytes, const PooledWays& pooled) {
  const auto bias_of = [=](void* const* t) { return bias ? static_cast<const float*>(t[3]) : nullptr; };
  const auto plain = [=](void* const* t, cudaStream_t stream) {
    stem_conv2d(dtype, v, t[0], t[1], bias_of(t), relu, t[2], stream);
    if (add_moments) add_moments(t, stream);
  };
  const auto mma = [=, has_moments = bool{add_moments}, multiprocessors = device.multiprocessors()](
                       void* const* t, cudaStream_t stream) {
    stem_mma_conv2d(dtype, v, t[0], t[1], bias_of(t), relu, t[2], has_moments ? static_cast<float*>(t[3]) : nullptr,
                    pooled.of(t), multiprocessors, stream);
  };
  return {
      pooled.forward(
          {.name = stem_kernel_name(dtype, v), .describe = {}, .launch = plain, .scratch_bytes = moment_bytes}, relu),
      {.name = kMmaName, .describe = {}, .launch = mma, .must_prove = true}};
}

int64_t stem_rows_of_sums(const CudaDevice& device, DType dtype, const Convolution& v) {
  // Fewer pixels are soon read again. batch_norm2d refuses a single value, if it has no moments.
  constexpr int64_t kLeastPixels = 64;
  if (dtype == DType::f32 || !takes_stem_mma(dtype, v) || v.pixels() < kLeastPixels) return 0;
  return stem_mma_rows_of_sums(v, device.multiprocessors());
}

namespace {

// Tensors: x, dy, dweights in f32, dbias in f32 if there is one, and the mask of a pooling. Scratch
// comes last.
std::vector<Way> weight_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias,
                                      const PooledWays& pooled) {
  const auto bias_of = [=](void* const* t) { return bias ? static_cast<float*>(t[3]) : nullptr; };
  const size_t place = 3 + (bias ? 1 : 0) + (pooled ? 1 : 0);  // of the scratch
  const auto plain = [=](void* const* t, cudaStream_t stream) {
    stem_weight_gradient(dtype, v, t[0], t[1], static_cast<float*>(t[2]), bias_of(t), t[place], stream);
  };
  const int multiprocessors = device.multiprocessors();
  const auto mma = [=](void* const* t, cudaStream_t stream) {
    stem_mma_weight_gradient(dtype, v, t[0], t[1], pooled.of(t), static_cast<float*>(t[2]), bias_of(t), t[place],
                             multiprocessors, stream);
  };
  return {pooled.backward({.name = stem_kernel_name(dtype, v),
                           .describe = {},
                           .launch = plain,
                           .scratch_bytes = stem_weight_gradient_scratch_bytes(dtype, v, bias)}),
          {.name = kMmaName,
           .describe = {},
           .launch = mma,
           .scratch_bytes = stem_mma_weight_gradient_scratch_bytes(v, bias, multiprocessors),
           .must_prove = true}};
}

}  // namespace

KernelChoice select_stem_weight_gradient(CudaDevice& device, const KernelRequest& request, const Convolution& v,
                                         Problem problem) {
  const TensorType &x = input_type(request, 0), &dy = input_type(request, 1);
  const bool bias = request.node.outputs.size() > 1;
  const PooledWays pooled(x.dtype, v, request.node, bias ? 4 : 3);
  problem.tensors = {x, dy, output_type(request, 0)};
  if (bias) {
    problem.text += ", bias";
    problem.tensors.push_back(output_type(request, 1));
    problem.outputs.push_back({.place = 3});
  }
  pooled.add_to(problem);
  if (pooled) problem.tensors.push_back(input_type(request, weight_gradient::pool_mask));
  KernelChoice choice =
      fastest_choice(device, request, problem, weight_gradient_ways(device, x.dtype, v, bias, pooled), nhwc_choice,
                     [](const Arguments& a, cudaStream_t) { return weight_gradient_tensors(a); });
  pooled.set_layout(choice.input_layouts[weight_gradient::dy]);
  return choice;
}

}  // namespace troika::cuda
