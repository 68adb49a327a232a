// The last layer of a classifier with few classes and its loss, as one kernel.
#pragma once

#include <functional>

#include "backends/cuda/kernels.h"

namespace troika::cuda {

// Whether the kernel takes a linear layer's x and weight: few classes, whose weights fit into the
// shared memory that every block has.
bool takes_linear_cross_entropy(const TensorType& x, const TensorType& weight);

// The kernel of a linear_cross_entropy node.
struct ClassifierKernel {
  std::function<void(const Arguments&, cudaStream_t)> launch;
  size_t scratch_bytes;
};
ClassifierKernel classifier_kernel(CudaDevice& device, const KernelRequest& request);

}  // namespace troika::cuda
