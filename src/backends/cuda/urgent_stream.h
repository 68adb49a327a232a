// A stream for what goes between ranks: its launches begin before those that wait on the step's own.
#pragma once

#include "backends/cuda/check.h"

namespace troika::cuda {

// On the current GPU. `what` begins the message.
inline cudaStream_t create_urgent_stream(std::string_view what) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), what);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), what);
  return stream;
}

}  // namespace troika::cuda
