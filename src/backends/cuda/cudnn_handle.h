// cuDNN's handle of a GPU.
#pragma once

#include <cudnn.h>

#include "backends/cuda/gpu_object.h"

namespace troika::cuda {

using CudnnHandle = GpuObject<cudnnHandle_t, cudnnDestroy>;

// cuDNN's launches go to `stream`, which must outlive the handle. `what` begins the message.
inline CudnnHandle create_cudnn_handle(const ContextPtr& context, cudaStream_t stream, std::string_view what) {
  CudnnHandle handle = create_on<CudnnHandle>(context, what, cudnnCreate);
  const ContextGuard guard(*context);
  check(cudnnSetStream(handle.get(), stream), what);
  return handle;
}

}  // namespace troika::cuda
