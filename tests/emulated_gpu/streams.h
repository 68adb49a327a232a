// Streams and events. Their work runs under a lock, one piece at a time, on any thread that waits
// for or queries a stream or an event.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gpu.h"
#include "graphs.h"

// An event counts how often it was recorded, and how many of these records the GPU has reached.
struct CUevent_st {
  int gpu = 0;
  bool is_timed = false;
  int64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point when;
};

struct CUstream_st {
  int gpu = 0;
  std::deque<emulated_gpu::Work> queue;
  std::unique_ptr<CUgraph_st> capture;  // null: not captured
  std::vector<cudaGraphNode_t> behind;  // the nodes that the next captured node waits for
  bool is_capture_broken = false;
};

namespace emulated_gpu {

// These functions return the same statuses as the runtime's functions of the same name. They do not
// set the last error.
cudaError_t create_stream(cudaStream_t& stream);
cudaError_t destroy(cudaStream_t stream);
cudaError_t synchronize(cudaStream_t stream);
cudaError_t query(cudaStream_t stream);
cudaError_t create_event(cudaEvent_t& event, bool is_timed);
cudaError_t destroy(cudaEvent_t event);
cudaError_t record(cudaEvent_t event, cudaStream_t stream);
cudaError_t wait(cudaStream_t stream, cudaEvent_t event);
cudaError_t synchronize(cudaEvent_t event);
cudaError_t query(cudaEvent_t event);
cudaError_t elapsed(float& milliseconds, cudaEvent_t from, cudaEvent_t to);

// Returns why a stream accepts no work from this thread; success if it accepts work.
cudaError_t why_not(cudaStream_t stream);
// Returns when the GPU has no work left.
void drain(int gpu);
// Runs some of the ready work, drawn by lot. Called at points at which a real GPU would make
// progress by itself.
void run_some();

}  // namespace emulated_gpu
