// CUDA streams.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/gpu_object.h"

namespace troika::cuda {

// Work that is still on a stream goes on after the stream's end. Whoever owns the memory that the
// work uses waits for it first.
using Stream = GpuObject<cudaStream_t, cudaStreamDestroy>;

// `what` begins the message.
inline Stream create_stream(const ContextPtr& context, std::string_view what) {
  return create_on<Stream>(
      context, what, [](cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); });
}

// For transfers between ranks: its launches begin before those that wait on the step's own stream.
inline Stream create_urgent_stream(const ContextPtr& context, std::string_view what) {
  return create_on<Stream>(context, what, [&](cudaStream_t* stream) {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), what);
    return cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest);
  });
}

}  // namespace troika::cuda
