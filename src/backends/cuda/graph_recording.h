// A run of launches as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "backends/cuda/context_guard.h"
#include "device/backend.h"

namespace troika::cuda {

// Captures what launch(0), launch(1) ... put on the stream, as Device::record says. The recording
// runs on the same stream. With `tries_early_starts`, kernels may start early (early_starts.h), if
// the first runs show that the recording is faster so. `what` begins messages.
std::unique_ptr<Recording> record_graph(const ContextPtr& context, cudaStream_t stream, const LaunchOrder& order,
                                        const std::function<void(size_t)>& launch, bool tries_early_starts,
                                        const std::string& what);

}  // namespace troika::cuda
