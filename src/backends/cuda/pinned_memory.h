// Memory of the host that a GPU reads and writes by itself.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "backends/cuda/gpu_object.h"

namespace troika::cuda {

using PinnedMemory = GpuObject<std::byte*, cudaFreeHost>;

// `what` begins the message.
inline PinnedMemory allocate_pinned(const ContextPtr& context, size_t bytes, std::string_view what) {
  return create_on<PinnedMemory>(context, what, [&](std::byte** memory) {
    return cudaHostAlloc(reinterpret_cast<void**>(memory), std::max<size_t>(bytes, 1), cudaHostAllocDefault);
  });
}

}  // namespace troika::cuda
