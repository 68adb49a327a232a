// Passes of batch_norm2d and of its gradient over an image, for kernels that come with them.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "backends/cuda/cuda_device.h"

namespace troika::cuda {

// Mean and variance of each channel, in the form that batch_norm2d merges.
class Moments {
 public:
  // For images of x's type, channels last. `node` names the memory that it keeps.
  Moments(CudaDevice& device, const Node& node, const TensorType& x, int64_t rank, int64_t rows);

  int pack() const { return pack_; }  // channels that a thread reads at once
  size_t scratch_bytes() const { return scratch_bytes_; }
  // Writes row `rank` of moments [rows, 2 channels + 1], {values per channel, means, sums of
  // squared differences from the means}, and zeros to the others.
  void launch(const void* x, float* moments, void* scratch, cudaStream_t stream) const {
    launch_(x, moments, scratch, stream);
  }

 private:
  std::function<void(const void*, float*, void*, cudaStream_t)> launch_;
  int pack_ = 1;
  size_t scratch_bytes_ = 0;
};

// The gradient of a ReLU after batch_norm2d, and the sums that batch_norm2d's gradient needs.
class GradientSums {
 public:
  // With `has_mask`, y is the mask of the ReLU, and x has 16-bit packs of 8 channels. The addend
  // has the node's gaps (ops/addend.h).
  GradientSums(CudaDevice& device, const Node& node, const TensorType& x, int64_t rows, bool has_mask);

  struct Operands {
    const void *x, *y, *dy;
    const void* more = nullptr;  // another gradient, which is added to dy
    void* dz;                    // may be dy, or `more` if that has all rows and columns
    const float* mean;
  };
  size_t scratch_bytes() const { return scratch_bytes_; }
  // dz = dy if y > 0, else 0. Writes row 0 of sums [rows, 2 channels + 1], {values per channel,
  // sums of dz, sums of dz (x - mean)}, and zeros to the others.
  void launch(const Operands& operands, float* sums, void* scratch, cudaStream_t stream) const {
    launch_(operands, sums, scratch, stream);
  }

 private:
  std::function<void(const Operands&, float*, void*, cudaStream_t)> launch_;
  size_t scratch_bytes_ = 0;
};

// y = relu((x - mean) * inv_std * weight + bias), channels last.
using NormalizeRelu = std::function<void(const void* x, const float* mean, const float* inv_std, const float* weight,
                                         const float* bias, void* y, cudaStream_t)>;
NormalizeRelu normalize_relu(const CudaDevice& device, const TensorType& x);

}  // namespace troika::cuda
