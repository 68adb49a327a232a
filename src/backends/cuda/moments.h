// Mean and variance of each channel of an image, in the form that batch_norm2d merges.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "backends/cuda/cuda_device.h"

namespace troika::cuda {

class Moments {
 public:
  // For images of x's type, channels last. `node` names the memory that it keeps.
  Moments(CudaDevice& device, const Node& node, const TensorType& x, int64_t rank, int64_t rows);

  int pack() const { return pack_; }  // channels that a thread reads at once
  size_t scratch_bytes() const { return scratch_bytes_; }
  // Writes row `rank` of moments [rows, 2 channels + 1], {values per channel, means, sums of squared
  // differences from the means}, and zeros to the others.
  void launch(const void* x, float* moments, void* scratch, cudaStream_t stream) const {
    launch_(x, moments, scratch, stream);
  }

 private:
  std::function<void(const void*, float*, void*, cudaStream_t)> launch_;
  int pack_ = 1;
  size_t scratch_bytes_ = 0;
};

}  // namespace troika::cuda
