// CUDA events.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/gpu_object.h"

namespace troika::cuda {

using Event = GpuObject<cudaEvent_t, cudaEventDestroy>;

// An event that orders work. `what` begins the message.
inline Event create_event(const ContextPtr& context, std::string_view what) {
  return create_on<Event>(context, what,
                          [](cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); });
}

// An event that takes the time as well.
inline Event create_timed_event(const ContextPtr& context, std::string_view what) {
  return create_on<Event>(context, what, [](cudaEvent_t* event) { return cudaEventCreate(event); });
}

}  // namespace troika::cuda
