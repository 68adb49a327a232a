// Captures, the random order in which a launch runs the nodes of a graph, and the objects that
// graphs keep alive.
#include "graphs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "gpus.h"
#include "live_objects.h"

namespace emulated_gpu {
namespace {

thread_local CUstream_st* captured = nullptr;  // by this thread
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

// Returns the nodes in an order drawn by lot, in which each node comes after the nodes that it
// waits for.
std::vector<const CUgraphNode_st*> drawn_order(const CUgraph_st& graph) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  std::map<const CUgraphNode_st*, std::vector<const CUgraphNode_st*>> followers;
  std::map<const CUgraphNode_st*, size_t> waits_for;
  std::vector<const CUgraphNode_st*> ready, order;
  for (const auto& node : graph.nodes) {
    for (const CUgraphNode_st* before : node->after) followers[before].push_back(node.get());
    waits_for[node.get()] = node->after.size();
    if (node->after.empty()) ready.push_back(node.get());
  }
  while (!ready.empty()) {
    std::swap(ready[gpus.lot() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const CUgraphNode_st* follower : followers[order.back()])
      if (--waits_for[follower] == 0) ready.push_back(follower);
  }
  return order;
}

// Returns a graph of the same nodes, which does not change with the first.
std::shared_ptr<const CUgraph_st> copy_of(const CUgraph_st& graph) {
  auto copy = std::make_shared<CUgraph_st>(graph);
  std::map<cudaGraphNode_t, cudaGraphNode_t> copies;
  for (auto& node : copy->nodes) {
    const cudaGraphNode_t original = node.get();
    node = std::make_shared<CUgraphNode_st>(*node);
    copies[original] = node.get();
    for (cudaGraphNode_t& before : node->after) before = copies.at(before);
  }
  return copy;
}

bool has(const CUgraph_st& graph, const CUgraphNode_st* node) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& own) { return own.get() == node; });
}

// A programmatic edge is between two kernels, and begins at the port of that name.
bool is_possible(const CUgraphNode_st& from, const CUgraphNode_st& to, const cudaGraphEdgeData& edge) {
  if (edge.type == cudaGraphDependencyTypeDefault) return edge.from_port == 0 && edge.to_port == 0;
  return edge.type == cudaGraphDependencyTypeProgrammatic && edge.from_port == cudaGraphKernelNodePortProgrammatic &&
         edge.to_port == 0 && from.work.type == cudaGraphNodeTypeKernel && to.work.type == cudaGraphNodeTypeKernel;
}

}  // namespace

bool is_forbidden_by_capture() {
  if (!captured || capture_mode == cudaStreamCaptureModeRelaxed) return false;
  captured->is_capture_broken = true;
  return true;
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(capture_mode, mode); }

cudaError_t begin_capture(cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return status;
  std::lock_guard lock(gpus.mutex);
  if (stream->capture) return cudaErrorIllegalState;
  if (must_fail("cudaStreamBeginCapture")) return cudaErrorMemoryAllocation;
  stream->capture = std::make_unique<CUgraph_st>();
  stream->behind.clear();
  captured = stream;
  return cudaSuccess;
}

cudaError_t end_capture(cudaStream_t stream, cudaGraph_t& graph) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  graph = nullptr;
  if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  if (captured != stream) return cudaErrorStreamCaptureWrongThread;
  captured = nullptr;
  const auto capture = std::move(stream->capture);
  if (stream->is_capture_broken) {
    stream->is_capture_broken = false;
    return cudaErrorStreamCaptureInvalidated;
  }
  if (must_fail("cudaStreamEndCapture")) return cudaErrorMemoryAllocation;
  graph = live<CUgraph_st>().add(std::make_shared<CUgraph_st>(std::move(*capture)));
  return cudaSuccess;
}

cudaError_t destroy(cudaGraph_t graph) {
  return live<CUgraph_st>().remove(graph) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t instantiate(cudaGraphExec_t& executable, cudaGraph_t graph) {
  const auto found = live<CUgraph_st>().find(graph);
  if (!found) return cudaErrorInvalidValue;
  if (must_fail("cudaGraphInstantiate")) return cudaErrorMemoryAllocation;
  executable =
      live<CUgraphExec_st>().add(std::make_shared<CUgraphExec_st>(CUgraphExec_st{current_gpu(), copy_of(*found)}));
  return cudaSuccess;
}

cudaError_t destroy(cudaGraphExec_t executable) {
  const auto found = live<CUgraphExec_st>().find(executable);
  if (!found || found->gpu != current_gpu()) return cudaErrorInvalidResourceHandle;
  live<CUgraphExec_st>().remove(executable);
  return cudaSuccess;
}

cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream) {
  const auto found = live<CUgraphExec_st>().find(executable);
  if (!found || found->gpu != current_gpu()) return cudaErrorInvalidResourceHandle;
  for (const CUgraphNode_st* node : drawn_order(*found->graph))
    if (!enqueue(stream, node->work)) return cudaErrorInvalidResourceHandle;
  enqueue(stream, {[held = found->graph] {}});  // keeps the graph until then
  return cudaSuccess;
}

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus& status, cudaGraph_t& graph,
                         const std::vector<cudaGraphNode_t>*& behind) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
  graph = stream->capture.get();
  behind = &stream->behind;
  status = !graph                      ? cudaStreamCaptureStatusNone
           : stream->is_capture_broken ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t continue_behind(cudaStream_t stream, std::vector<cudaGraphNode_t> nodes) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  for (const CUgraphNode_st* node : nodes)
    if (!has(*stream->capture, node)) return cudaErrorInvalidValue;
  stream->behind = std::move(nodes);
  return cudaSuccess;
}

cudaError_t edges_of(cudaGraph_t graph, std::vector<cudaGraphNode_t>& from, std::vector<cudaGraphNode_t>& to,
                     std::vector<cudaGraphEdgeData>& edges) {
  const auto found = live<CUgraph_st>().find(graph);
  if (!found) return cudaErrorInvalidValue;
  for (const auto& node : found->nodes) {
    from.insert(from.end(), node->after.begin(), node->after.end());
    to.insert(to.end(), node->after.size(), node.get());
    edges.insert(edges.end(), node->edges.begin(), node->edges.end());
    edges.resize(from.size());
  }
  return cudaSuccess;
}

cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData* edge) {
  const auto found = live<CUgraph_st>().find(graph);
  const cudaGraphEdgeData data = edge ? *edge : cudaGraphEdgeData{};
  if (!found || !has(*found, from) || !has(*found, to) || !is_possible(*from, *to, data)) return cudaErrorInvalidValue;
  if (std::count(to->after.begin(), to->after.end(), from)) return cudaErrorInvalidValue;
  to->edges.resize(to->after.size());
  to->after.push_back(from);
  to->edges.push_back(data);
  return cudaSuccess;
}

cudaError_t remove_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData* edge) {
  const auto found = live<CUgraph_st>().find(graph);
  const cudaGraphEdgeData data = edge ? *edge : cudaGraphEdgeData{};
  if (!found || !has(*found, from) || !has(*found, to)) return cudaErrorInvalidValue;
  const auto at = std::find(to->after.begin(), to->after.end(), from);
  if (at == to->after.end()) return cudaErrorInvalidValue;
  to->edges.resize(to->after.size());
  const auto of = to->edges.begin() + (at - to->after.begin());
  if (std::memcmp(&*of, &data, sizeof data) != 0) return cudaErrorInvalidValue;
  to->after.erase(at);
  to->edges.erase(of);
  return cudaSuccess;
}

cudaError_t create_user_object(cudaUserObject_t& object, void* held, cudaHostFn_t destroy, unsigned references) {
  if (must_fail("cudaUserObjectCreate")) return cudaErrorMemoryAllocation;
  object = live<CUuserObject_st>().add(std::make_shared<CUuserObject_st>(CUuserObject_st{held, destroy, references}));
  return cudaSuccess;
}

cudaError_t release(cudaUserObject_t object, unsigned references) {
  static std::mutex mutex;
  {
    std::lock_guard lock(mutex);
    if (object->references < references) return cudaErrorInvalidValue;
    object->references -= references;
    if (object->references > 0) return cudaSuccess;
  }
  const auto ending = live<CUuserObject_st>().remove(object);
  ending->destroy(ending->object);
  return cudaSuccess;
}

cudaError_t keep(cudaGraph_t graph, cudaUserObject_t object, unsigned references, bool moves) {
  if (!moves) object->references += references;
  for (unsigned i = 0; i < references; ++i)
    graph->kept.push_back(std::shared_ptr<void>(object, [](void* o) { release(static_cast<cudaUserObject_t>(o), 1); }));
  return cudaSuccess;
}

}  // namespace emulated_gpu
