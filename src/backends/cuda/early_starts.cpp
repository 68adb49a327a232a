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

// The blocks of a cooperative kernel are placed together, or not at all: it does not start early.
bool is_own_kernel(cudaGraphNode_t node, std::string_view what) {
  if (!is_kernel(node, what)) return false;
  cudaKernelNodeParams parameters{};
  if (cudaGraphKernelNodeGetParams(node, &parameters) != cudaSuccess) {
    cudaGetLastError();  // a kernel that another library has loaded
    return false;
  }
  static const char here = 0;
  if (!parameters.func || !are_of_one_library(parameters.func, &here)) return false;
  cudaLaunchAttributeValue cooperative{};
  check(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &cooperative), what);
  return !cooperative.cooperative;
}

}  // namespace

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
    if (!is_kernel(from, what) || !is_own_kernel(to, what)) continue;
    check(cudaGraphRemoveDependencies(graph, &from, &to, &edges.data[i], 1), what);
    check(cudaGraphAddDependencies(graph, &from, &to, &early, 1), what);
    ++changed;
  }
  return changed;
}

}  // namespace troika::cuda
