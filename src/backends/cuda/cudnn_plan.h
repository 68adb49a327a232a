// cuDNN graphs: described, given an engine, and run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/cuda_device.h"

namespace cudnn_frontend::graph {
class Graph;
}

namespace troika::cuda {

// Adds tensors, whose ids are 1 and on, and operations to an empty graph.
using DescribeGraph = std::function<void(cudnn_frontend::graph::Graph&)>;

// The freedom of an engine.
struct EngineLimits {
  bool tensor_cores = true;  // which round f32 to TF32
  size_t most_workspace = 0;
};

// A graph with the one engine that runs it. From the device's worker.
class CudnnPlan {
 public:
  // Returns plans with the engines that cuDNN ranks highest, the best first. All compute the same
  // bits in every run, sum in f32 and keep to the limits. Empty if cuDNN has no such engine.
  static std::vector<CudnnPlan> candidates(CudaDevice& device, const DescribeGraph& describe,
                                           const EngineLimits& limits);

  // Returns the plan with the engine of this name, "eng52_k2=3_k24=0", without building others;
  // nothing if there is none.
  static std::optional<CudnnPlan> build(CudaDevice& device, const DescribeGraph& describe, const EngineLimits& limits,
                                        const std::string& engine);

  const std::string& engine() const { return engine_; }
  size_t workspace_bytes() const { return workspace_bytes_; }

  // Tensor i has the id i + 1; those that the graph does not name are passed over.
  void run(std::span<void* const> tensors, void* workspace);

 private:
  using Graph = cudnn_frontend::graph::Graph;
  CudnnPlan(cudnnHandle_t handle, std::shared_ptr<Graph> graph, int64_t index, std::string engine);

  cudnnHandle_t handle_;
  std::shared_ptr<Graph> graph_;
  int64_t index_;  // of the engine, among the graph's
  std::string engine_;
  size_t workspace_bytes_;
  std::unordered_map<int64_t, void*> tensors_;  // by id; kept, so that a run allocates nothing for it
};

}  // namespace troika::cuda
