// Graphs, which streams capture.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu.h"

// An object of the host that graphs keep alive.
struct CUuserObject_st {
  static constexpr const char* kKind = "user objects";
  void* object = nullptr;
  cudaHostFn_t destroy = nullptr;
  int64_t references = 0;
};

struct CUgraphNode_st {
  emulated_gpu::Work work;
  std::vector<cudaGraphNode_t> after;    // the nodes that this node waits for
  std::vector<cudaGraphEdgeData> edges;  // from each of these nodes
};

struct CUgraph_st {
  static constexpr const char* kKind = "graphs";
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;  // each after the nodes that it waits for
  std::vector<std::shared_ptr<void>> kept;             // each a reference to a user object
};

struct CUgraphExec_st {
  static constexpr const char* kKind = "executable graphs";
  int gpu = 0;
  std::shared_ptr<const CUgraph_st> graph;
};

namespace emulated_gpu {

// These functions return the same statuses as the runtime's functions of the same name. They do not
// set the last error.
cudaError_t begin_capture(cudaStream_t stream);
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t& graph);
cudaError_t destroy(cudaGraph_t graph);
cudaError_t instantiate(cudaGraphExec_t& executable, cudaGraph_t graph);
cudaError_t destroy(cudaGraphExec_t executable);
cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus& status, cudaGraph_t& graph,
                         const std::vector<cudaGraphNode_t>*& behind);
cudaError_t continue_behind(cudaStream_t stream, std::vector<cudaGraphNode_t> nodes);
// A null array of edges stands for plain edges. A kernel that may start early waits for the kernel
// before it with its first statement (translate.py), so a launch runs the nodes in the same orders.
cudaError_t edges_of(cudaGraph_t graph, std::vector<cudaGraphNode_t>& from, std::vector<cudaGraphNode_t>& to,
                     std::vector<cudaGraphEdgeData>& edges);
cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData* edge);
cudaError_t remove_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData* edge);
cudaError_t create_user_object(cudaUserObject_t& object, void* held, cudaHostFn_t destroy, unsigned references);
cudaError_t release(cudaUserObject_t object, unsigned references);
cudaError_t keep(cudaGraph_t graph, cudaUserObject_t object, unsigned references, bool moves);

// Called by functions that the runtime forbids during a capture. Returns true, and breaks the
// capture, if this thread captures and its mode is not relaxed.
bool is_forbidden_by_capture();
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);  // of this thread

}  // namespace emulated_gpu
