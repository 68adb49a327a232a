// Streams, events and graphs, and the one place where their work runs: under a lock, a piece at a time, on whichever thread
// waits or looks.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gpu.h"

// An event counts how often it was recorded, and how many of these records the GPU has reached.
struct CUevent_st {
  int gpu = 0;
  bool is_timed = false;
  int64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point when;
};

// Something of the host's that graphs keep alive.
struct CUuserObject_st {
  void* object = nullptr;
  cudaHostFn_t destroy = nullptr;
  int64_t references = 0;
};

struct CUgraph_st {
  std::vector<emulated_gpu::Work> works;
  std::vector<std::shared_ptr<void>> kept;  // each a reference to a user object
};

struct CUgraphExec_st {
  int gpu = 0;
  std::shared_ptr<const CUgraph_st> graph;
};

struct CUstream_st {
  int gpu = 0;
  std::deque<emulated_gpu::Work> queue;
  std::unique_ptr<CUgraph_st> capture;  // null: not captured
  bool is_capture_broken = false;
};

namespace emulated_gpu {

// All of them answer as the runtime's functions of the same name, without keeping the last error.
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
cudaError_t begin_capture(cudaStream_t stream);
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t& graph);
cudaError_t instantiate(cudaGraphExec_t& executable, cudaGraph_t graph);
cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus& status, cudaGraph_t& graph);
cudaError_t create_user_object(cudaUserObject_t& object, void* held, cudaHostFn_t destroy, unsigned references);
cudaError_t release(cudaUserObject_t object, unsigned references);
cudaError_t keep(cudaGraph_t graph, cudaUserObject_t object, unsigned references, bool moves);

// Why a stream takes nothing from this thread; success where it does.
cudaError_t why_not(cudaStream_t stream);
// What the runtime forbids while this thread captures, unless its mode is relaxed: it spoils the capture.
bool is_forbidden_by_capture();
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);  // of this thread
// Until the GPU has nothing left to do.
void drain(int gpu);
// Runs some of what is ready, by lot; called where a real GPU goes on by itself.
void run_some();

}  // namespace emulated_gpu
