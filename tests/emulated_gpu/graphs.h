// Graphs, which streams capture.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu.h"

// Something of the host's that graphs keep alive.
struct CUuserObject_st {
  static constexpr const char* kKind = "user objects";
  void* object = nullptr;
  cudaHostFn_t destroy = nullptr;
  int64_t references = 0;
};

struct CUgraphNode_st {
  emulated_gpu::Work work;
  std::vector<cudaGraphNode_t> after;  // that it waits for
};

struct CUgraph_st {
  static constexpr const char* kKind = "graphs";
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;  // each behind those that it waits for
  std::vector<std::shared_ptr<void>> kept;             // each a reference to a user object
};

struct CUgraphExec_st {
  static constexpr const char* kKind = "executable graphs";
  int gpu = 0;
  std::shared_ptr<const CUgraph_st> graph;
};

namespace emulated_gpu {

// All of them answer as the runtime's functions of the same name, without keeping the last error.
cudaError_t begin_capture(cudaStream_t stream);
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t& graph);
cudaError_t destroy(cudaGraph_t graph);
cudaError_t instantiate(cudaGraphExec_t& executable, cudaGraph_t graph);
cudaError_t destroy(cudaGraphExec_t executable);
cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus& status, cudaGraph_t& graph,
                         const std::vector<cudaGraphNode_t>*& behind);
cudaError_t continue_behind(cudaStream_t stream, std::vector<cudaGraphNode_t> nodes);
cudaError_t create_user_object(cudaUserObject_t& object, void* held, cudaHostFn_t destroy, unsigned references);
cudaError_t release(cudaUserObject_t object, unsigned references);
cudaError_t keep(cudaGraph_t graph, cudaUserObject_t object, unsigned references, bool moves);

// What the runtime forbids while this thread captures, unless its mode is relaxed: it spoils the capture.
bool is_forbidden_by_capture();
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);  // of this thread

}  // namespace emulated_gpu
