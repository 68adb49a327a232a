// GPUs in software, so that the CUDA plug-in runs and is tested where there is none: what the stand-ins for CUDA's libraries
// share. Streams are queues; what lies in them runs late, in an order drawn by lot wherever streams and events leave a choice,
// and only then can the GPU's memory be touched.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace emulated_gpu {

// What a stream is given to do. Not run while the stream is captured, but kept for each launch of the graph.
struct Work {
  std::function<void()> run;
  // Asked when everything before it in the stream has run, again and again until true. Null: at once. May count who has come.
  std::function<bool()> is_ready = nullptr;
  // Whether it may touch the memory of every GPU, not of the stream's alone.
  bool reaches_all = false;
};

// Behind what the stream has already. From any thread, whose current GPU must be the stream's: false with no effect where not.
bool enqueue(cudaStream_t stream, Work work);

// The GPU that is current on this thread.
int current_gpu();

}  // namespace emulated_gpu
