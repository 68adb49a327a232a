// Ways of the kernels for convolutions.
#include "backends/cuda/hopper/ways.h"

#include "backends/cuda/hopper/conv2d.h"

namespace troika::cuda::hopper {
namespace {

// Its number changes with the kernels, so that what was measured before is forgotten.
constexpr const char* kName = "hopper1";

}  // namespace

std::vector<Way> conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, size_t moments,
                             const LaunchWay& finish) {
  if (!device.is_hopper() || !takes_conv2d(dtype, v)) return {};
  const auto launch = [=, multiprocessors = device.multiprocessors()](void* const* t, cudaStream_t stream) {
    conv2d(v, t[0], t[1], t[2], moments ? static_cast<float*>(t[moments]) : nullptr, multiprocessors, stream);
    finish(t, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

int64_t conv2d_moment_rows(const CudaDevice& device, DType dtype, const Convolution& v) {
  return device.is_hopper() && takes_conv2d(dtype, v) ? moment_rows(v, device.multiprocessors()) : 0;
}

std::vector<Way> conv2d_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v) {
  if (!device.is_hopper() || !takes_conv2d(dtype, v)) return {};
  const auto launch = [=, multiprocessors = device.multiprocessors()](void* const* t, cudaStream_t stream) {
    conv2d_input_gradient(v, t[0], t[1], t[2], multiprocessors, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

std::vector<Way> conv2d_weight_gradient_ways(CudaDevice& device, DType dtype, const Convolution& v,
                                             const std::string& what) {
  if (!device.is_hopper() || !takes_conv2d_weight_gradient(dtype, v)) return {};
  const int multiprocessors = device.multiprocessors();
  std::shared_ptr<Buffer> turns;
  if (!device.is_plan_only()) turns = std::make_shared<Buffer>(device.allocate(2 * sizeof(unsigned), what));
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    conv2d_weight_gradient(v, t[0], t[1], static_cast<float*>(t[2]), t[3], reinterpret_cast<unsigned*>(turns->get()),
                           multiprocessors, stream);
  };
  return {{.name = kName,
           .describe = {},
           .launch = launch,
           .scratch_bytes = conv2d_weight_gradient_scratch_bytes(v, multiprocessors),
           .must_prove = true}};
}

}  // namespace troika::cuda::hopper
