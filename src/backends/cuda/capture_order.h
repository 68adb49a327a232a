// The order of launches that a stream captures. A stream puts each launch after the one before it.
// Here each launch comes only after those that it waits for, so that the graph runs the others
// concurrently.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "device/backend.h"

namespace troika::cuda {

class CaptureOrder {
 public:
  // `what`: the object that errors name. `order` is borrowed.
  CaptureOrder(cudaStream_t stream, const LaunchOrder& order, std::string what);

  // Around launch i, in turn.
  void begin(size_t i);
  void end(size_t i);

 private:
  // A node that comes before another, and how their edge is to be: kernels of libraries may begin
  // before its end.
  struct Edge {
    cudaGraphNode_t node;
    cudaGraphEdgeData data;
  };

  const cudaStream_t stream_;
  const LaunchOrder& order_;
  const std::string what_;
  bool is_row_ = true;                   // each launch waits for the one before it alone: as the stream has it
  std::vector<std::vector<Edge>> ends_;  // of each launch: from the nodes that end it to what comes next
};

}  // namespace troika::cuda
