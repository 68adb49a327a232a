// Ways of the kernels for small convolutions.
#include "backends/cuda/small_ways.h"

#include "backends/cuda/small_conv2d.h"

namespace troika::cuda {
namespace {

// Its number changes with the kernels, so that what was measured before is forgotten.
constexpr const char* kName = "small1";

SmallConv2dLimits limits_of(const CudaDevice& device) { return {device.multiprocessors(), device.shared_bytes()}; }

}  // namespace

std::vector<Way> small_conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias, bool relu) {
  const SmallConv2dLimits limits = limits_of(device);
  if (!takes_small_conv2d(dtype, v, limits)) return {};
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    small_conv2d(dtype, v, t[0], t[1], bias ? static_cast<const float*>(t[3]) : nullptr, relu, t[2], limits, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

std::vector<Way> small_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v) {
  const SmallConv2dLimits limits = limits_of(device);
  if (!takes_small_input_gradient(dtype, v, limits)) return {};
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    small_input_gradient(dtype, v, t[0], t[1], t[2], limits, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

std::vector<Way> small_weight_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias) {
  const SmallConv2dLimits limits = limits_of(device);
  if (!takes_small_weight_gradient(dtype, v, limits)) return {};
  const size_t scratch_bytes = small_weight_gradient_scratch_bytes(dtype, v, bias, limits);
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    small_weight_gradient(dtype, v, t[0], t[1], static_cast<float*>(t[2]), bias ? static_cast<float*>(t[3]) : nullptr,
                          scratch_bytes ? t[bias ? 4 : 3] : nullptr, limits, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .scratch_bytes = scratch_bytes, .must_prove = true}};
}

}  // namespace troika::cuda
