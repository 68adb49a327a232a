// Ways of the kernels for small convolutions.
#include "backends/cuda/small_ways.h"

#include "backends/cuda/small_conv2d.h"

namespace troika::cuda {
namespace {

// Its number changes with the kernels, so that what was measured before is forgotten.
constexpr const char* kName = "small2";

SmallConv2dLimits limits_of(const CudaDevice& device) { return {device.multiprocessors(), device.shared_bytes()}; }

}  // namespace

std::vector<Way> small_conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias, bool relu,
                                   const PooledWays& pooled) {
  const SmallConv2dLimits limits = limits_of(device);
  if (!takes_small_conv2d(dtype, v, limits)) return {};
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    small_conv2d(dtype, v, t[0], t[1], bias ? static_cast<const float*>(t[3]) : nullptr, relu, t[2], pooled.of(t),
                 limits, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

std::vector<Way> small_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v,
                                           const PooledWays& pooled) {
  const SmallConv2dLimits limits = limits_of(device);
  if (!takes_small_input_gradient(dtype, v, limits)) return {};
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    small_input_gradient(dtype, v, t[0], t[1], pooled.of(t), t[2], limits, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

std::vector<Way> small_weight_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias,
                                            const PooledWays& pooled) {
  const SmallConv2dLimits limits = limits_of(device);
  if (!takes_small_weight_gradient(dtype, v, limits)) return {};
  const size_t scratch_bytes = small_weight_gradient_scratch_bytes(dtype, v, bias, limits);
  const size_t scratch_place = 3 + (bias ? 1 : 0) + (pooled ? 1 : 0);
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    small_weight_gradient(dtype, v, t[0], t[1], pooled.of(t), static_cast<float*>(t[2]),
                          bias ? static_cast<float*>(t[3]) : nullptr, scratch_bytes ? t[scratch_place] : nullptr,
                          limits, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .scratch_bytes = scratch_bytes, .must_prove = true}};
}

bool has_small_ways(const CudaDevice& device, DType dtype, const Convolution& v) {
  const SmallConv2dLimits limits = limits_of(device);
  return takes_small_conv2d(dtype, v, limits) && takes_small_input_gradient(dtype, v, limits) &&
         takes_small_weight_gradient(dtype, v, limits);
}

}  // namespace troika::cuda
