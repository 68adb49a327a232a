// In place of ways.cpp in a build without code for compute capability 9.0.
#include "backends/cuda/hopper/ways.h"

namespace troika::cuda::hopper {

std::vector<Way> conv2d_ways(const CudaDevice&, DType, const Convolution&, bool, size_t, const LaunchWay&) {
  return {};
}

bool normalizes_input(const CudaDevice&, DType, const Convolution&) { return false; }

int64_t conv2d_rows_of_sums(const CudaDevice&, DType, const Convolution&) { return 0; }

int64_t input_gradient_rows_of_sums(const CudaDevice&, DType, const Convolution&) { return 0; }

std::vector<Way> conv2d_input_gradient_ways(const CudaDevice&, DType, const Convolution&, bool, bool, int64_t) {
  return {};
}

bool adds_without_gaps(const CudaDevice&, DType, const Convolution&, int64_t) { return false; }

std::vector<Way> conv2d_weight_gradient_ways(CudaDevice&, DType, const Convolution&, bool, const std::string&) {
  return {};
}

}  // namespace troika::cuda::hopper
