// Ways of the kernels for convolutions.
#include "backends/cuda/hopper/ways.h"

#include "backends/cuda/hopper/conv2d.h"

namespace troika::cuda::hopper {
namespace {

// Its number changes with the kernels, so that what was measured before is forgotten.
constexpr const char* kName = "hopper2";

// weight, bias, mean and inv_std of a batch_norm2d, from tensor `place` on; 0: there is none.
NormalizedRelu norm_at(void* const* t, size_t place) {
  if (place == 0) return {};
  const auto floats = [&](size_t i) { return static_cast<const float*>(t[place + i]); };
  return {.mean = floats(2), .inv_std = floats(3), .weight = floats(0), .bias = floats(1)};
}

}  // namespace

std::vector<Way> conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool has_moments,
                             size_t norm_place, const LaunchWay& finish) {
  if (!device.is_hopper() || !takes_conv2d(dtype, v)) return {};
  const auto launch = [=, multiprocessors = device.multiprocessors()](void* const* t, cudaStream_t stream) {
    conv2d(v, t[0], norm_at(t, norm_place), t[1], t[2], has_moments ? static_cast<float*>(t[3]) : nullptr,
           multiprocessors, stream);
    if (!has_moments) finish(t, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

int64_t conv2d_rows_of_sums(const CudaDevice& device, DType dtype, const Convolution& v) {
  return device.is_hopper() && takes_conv2d(dtype, v) ? rows_of_sums(v, device.multiprocessors()) : 0;
}

int64_t input_gradient_rows_of_sums(const CudaDevice& device, DType dtype, const Convolution& v) {
  return device.is_hopper() && takes_input_gradient(dtype, v) ? rows_of_gradient_sums(v, device.multiprocessors()) : 0;
}

bool normalizes_input(const CudaDevice& device, DType dtype, const Convolution& v) {
  return device.is_hopper() && takes_conv2d(dtype, v) && takes_weight_gradient(dtype, v) && normalizes_input(v);
}

bool adds_without_gaps(const CudaDevice& device, DType dtype, const Convolution& v, int64_t addend_stride) {
  return device.is_hopper() && takes_input_gradient(dtype, v) && takes_gaps(v, addend_stride);
}

std::vector<Way> conv2d_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool has_sums,
                                            bool has_addend, int64_t addend_stride) {
  if (!device.is_hopper() || !takes_input_gradient(dtype, v)) return {};
  const auto launch = [=, multiprocessors = device.multiprocessors()](void* const* t, cudaStream_t stream) {
    NormalizedRelu relu;
    if (has_sums)
      relu = {.x = t[3],
              .mean = static_cast<const float*>(t[7]),
              .inv_std = static_cast<const float*>(t[8]),
              .weight = static_cast<const float*>(t[5]),
              .bias = static_cast<const float*>(t[6]),
              .mask = has_addend ? t[4] : nullptr,
              .addend = has_addend ? t[9] : nullptr,
              .addend_stride = addend_stride};
    float* const sums = has_sums ? static_cast<float*>(t[has_addend ? 10 : 9]) : nullptr;
    conv2d_input_gradient(v, t[0], t[1], t[2], relu, sums, multiprocessors, stream);
  };
  return {{.name = kName, .describe = {}, .launch = launch, .must_prove = true}};
}

std::vector<Way> conv2d_weight_gradient_ways(CudaDevice& device, DType dtype, const Convolution& v, bool normalizes,
                                             const std::string& what) {
  if (!device.is_hopper() || !takes_weight_gradient(dtype, v)) return {};
  const int multiprocessors = device.multiprocessors();
  std::shared_ptr<Buffer> turns;
  if (!device.is_plan_only()) turns = std::make_shared<Buffer>(device.allocate(2 * sizeof(unsigned), what));
  const auto launch = [=](void* const* t, cudaStream_t stream) {
    conv2d_weight_gradient(v, t[0], norm_at(t, normalizes ? 4 : 0), t[1], static_cast<float*>(t[2]), t[3],
                           reinterpret_cast<unsigned*>(turns->get()), multiprocessors, stream);
  };
  return {{.name = kName,
           .describe = {},
           .launch = launch,
           .scratch_bytes = conv2d_weight_gradient_scratch_bytes(v, multiprocessors),
           .must_prove = true}};
}

}  // namespace troika::cuda::hopper
