// The nodes on which a stream's next node depends, read after each launch and set before each.
#include "backends/cuda/capture_order.h"

#include <algorithm>

#include "backends/cuda/check.h"

namespace troika::cuda {

CaptureOrder::CaptureOrder(cudaStream_t stream, const LaunchOrder& order, std::string what)
    : stream_(stream), order_(order), what_(std::move(what)), ends_(order.size()) {
  for (size_t i = 1; i < order.size(); ++i) is_row_ = is_row_ && order[i] == std::vector<size_t>{i - 1};
}

void CaptureOrder::begin(size_t i) {
  if (is_row_) return;
  std::vector<cudaGraphNode_t> nodes;
  std::vector<cudaGraphEdgeData> edges;
  for (size_t other : order_[i])
    for (const Edge& edge : ends_[other]) {
      // A launch that launches nothing ends as those before it do.
      if (std::find(nodes.begin(), nodes.end(), edge.node) != nodes.end()) continue;
      nodes.push_back(edge.node);
      edges.push_back(edge.data);
    }
  check(cudaStreamUpdateCaptureDependencies(stream_, nodes.data(), edges.data(), nodes.size(),
                                            cudaStreamSetCaptureDependencies),
        what_);
}

void CaptureOrder::end(size_t i) {
  if (is_row_) return;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  check(cudaStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, &edges, &count), what_);
  for (size_t n = 0; n < count; ++n) ends_[i].push_back({nodes[n], edges ? edges[n] : cudaGraphEdgeData{}});
}

}  // namespace troika::cuda
