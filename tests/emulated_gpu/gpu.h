// GPUs in software, so that the CUDA plug-in can be run and tested without a GPU. The stand-ins for
// CUDA's libraries share this header. Streams are queues. Their work runs late, in an order drawn
// by lot if streams and events leave a choice. Only running work can access the GPU's memory.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace emulated_gpu {

// A piece of work of a stream. If the stream is being captured, the work does not run but is kept
// for each launch of the graph.
struct Work {
  std::function<void()> run;
  // Called when all earlier work of the stream has run, repeatedly until it returns true. Null: the
  // work is ready at once. The function may have effects, such as counting arrivals.
  std::function<bool()> is_ready = nullptr;
  // Whether the work may access the memory of every GPU, not only of the stream's GPU.
  bool reaches_all = false;
  // A graph says this of the work.
  cudaGraphNodeType type = cudaGraphNodeTypeKernel;
  const void* function = nullptr;  // of a kernel; null: another library loaded it, and the runtime does not know it
  bool is_cooperative = false;     // a kernel whose blocks all run at once
};

// Appends work to a stream, from any thread. Returns false, with no effect, if the thread's current
// GPU is not the stream's GPU.
bool enqueue(cudaStream_t stream, Work work);

// Returns the GPU that is current on this thread.
int current_gpu();

}  // namespace emulated_gpu
