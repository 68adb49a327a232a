// The one check of CUDA's calls: a failure becomes an Error that says what was being done.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "core/error.h"

namespace troika::cuda {

// `what` begins the message: "conv2d 'stem' on cuda:0". OUT_OF_MEMORY where that is the reason,
// else INTERNAL.
void check(cudaError_t status, std::string_view what);

// The same for the hot path, whose caller builds no message.
inline void check_launch(cudaError_t status) {
  if (status != cudaSuccess) check(status, "a CUDA kernel");
}

}  // namespace troika::cuda
