// Edges of graphs, made programmatic.
#include "backends/cuda/early_starts.h"

#include <map>
#include <vector>

#include "backends/cuda/check.h"
#include "core/dynamic_library.h"

namespace troika::cuda {
namespace {

struct Edges {
  std::vector<cudaGraphNode_t> from, to;
  std::vector<cudaGraphEdgeData> data;
};

Edges edges_of(cudaGraph_t graph, std::string_view what) {
  size_t count = 0;
  check(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), what);
  Edges edges{std::vector<cudaGraphNode_t>(count), std::vector<cudaGraphNode_t>(count),
              std::vector<cudaGraphEdgeData>(count)};
  check(cudaGraphGetEdges(graph, edges.from.data(), edges.to.data(), edges.data.data(), &count), what);
  return edges;
}

bool is_kernel(cudaGraphNode_t node, std::string_view what) {
  cudaGraphNodeType type{};
  check(cudaGraphNodeGetType(node, &type), what);
  return type == cudaGraphNodeTypeKernel;
}

// Returns the function of a kernel of this plug-in; null for any other node.
const void* own_kernel(cudaGraphNode_t node, std::string_view what) {
  if (!is_kernel(node, what)) return nullptr;
  cudaKernelNodeParams parameters{};
  if (cudaGraphKernelNodeGetParams(node, &parameters) != cudaSuccess) {
    cudaGetLastError();  // a kernel that another library has loaded
    return nullptr;
  }
  static const char here = 0;
  return parameters.func && are_of_one_library(parameters.func, &here) ? parameters.func : nullptr;
}

// Code for GPUs before 9.0 does not wait, even if a later GPU runs it. The blocks of a cooperative
// kernel are placed together, or not at all.
bool may_start_early(cudaGraphNode_t node, std::string_view what) {
  constexpr int kWaits = 90;
  const void* const kernel = own_kernel(node, what);
  if (!kernel) return false;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), what);
  cudaLaunchAttributeValue cooperative{};
  check(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &cooperative), what);
  return attributes.ptxVersion >= kWaits && !cooperative.cooperative;
}

void replace_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData& before,
                  const cudaGraphEdgeData& after, std::string_view what) {
  check(cudaGraphRemoveDependencies(graph, &from, &to, &before, 1), what);
  check(cudaGraphAddDependencies(graph, &from, &to, &after, 1), what);
}

}  // namespace

void hold_back_libraries(cudaGraph_t graph, std::string_view what) {
  const Edges edges = edges_of(graph, what);
  for (size_t i = 0; i < edges.to.size(); ++i)
    if (edges.data[i].type != cudaGraphDependencyTypeDefault && own_kernel(edges.from[i], what))
      replace_edge(graph, edges.from[i], edges.to[i], edges.data[i], {}, what);
}

int let_kernels_start_early(cudaGraph_t graph, std::string_view what) {
  const Edges edges = edges_of(graph, what);
  std::map<cudaGraphNode_t, int> before;  // the number of nodes that a node waits for
  for (cudaGraphNode_t node : edges.to) ++before[node];
  cudaGraphEdgeData early{};
  early.type = cudaGraphDependencyTypeProgrammatic;
  early.from_port = cudaGraphKernelNodePortProgrammatic;
  int changed = 0;
  for (size_t i = 0; i < edges.to.size(); ++i) {
    const cudaGraphNode_t from = edges.from[i], to = edges.to[i];
    if (edges.data[i].type != cudaGraphDependencyTypeDefault || before[to] != 1) continue;
    if (!is_kernel(from, what) || !may_start_early(to, what)) continue;
    replace_edge(graph, from, to, edges.data[i], early, what);
    ++changed;
  }
  return changed;
}

}  // namespace troika::cuda
