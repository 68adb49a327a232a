// A kernel: two halves. At plan time a device chooses it and says what memory it wants; at step time it runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/layout.h"
#include "graph/graph.h"

namespace troika {

// Step-time half. Bound once to addresses, run many times; run allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Addresses of inputs (null where absent), outputs, and scratch. Called again when memory moves.
  virtual void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) = 0;
  virtual void run() = 0;
};

// Plan-time half: what a device is asked.
struct KernelRequest {
  const Graph& graph;
  const Node& node;
  std::vector<LayoutPtr> input_layouts;  // as the inputs lie now
};

inline bool has_input(const KernelRequest& r, size_t i) {
  return i < r.node.inputs.size() && r.node.inputs[i] != kNoValue;
}

// ... and what it answers. An input that lies otherwise is reordered first; state keeps its own layout.
struct KernelChoice {
  std::unique_ptr<Kernel> kernel;
  std::string name;  // "cpu:onednn:jit:avx512_core"
  std::vector<LayoutPtr> input_layouts;
  std::vector<LayoutPtr> output_layouts;
  size_t scratch_bytes = 0;
  // Pairs {output, input} that may share memory where the input is not needed afterwards.
  std::vector<std::pair<int, int>> may_share = {};
};

}  // namespace troika
