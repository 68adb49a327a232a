// A kernel has two halves. At plan time a device chooses it and states the memory that it needs; at
// step time it runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "device/layout.h"
#include "graph/graph.h"

namespace troika {

// Step-time half. Bound once to addresses, run many times; run allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Addresses of inputs (null if absent), outputs and scratch. Called again when memory moves.
  virtual void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) = 0;
  virtual void run() = 0;
};

// Plan-time half: the node for which a device chooses a kernel.
struct KernelRequest {
  const Graph& graph;
  const Node& node;
  std::vector<LayoutPtr> input_layouts;  // as the inputs are stored now
};

inline bool has_input(const KernelRequest& r, size_t i) {
  return i < r.node.inputs.size() && r.node.inputs[i] != kNoValue;
}

// The device's choice. An input that is stored in another layout is reordered first; state keeps
// its own layout.
struct KernelChoice {
  std::unique_ptr<Kernel> kernel;
  std::string name;  // "cpu:onednn:jit:avx512_core"
  std::vector<LayoutPtr> input_layouts;
  std::vector<LayoutPtr> output_layouts;
  // The kernel neither reads these inputs nor writes these outputs. No node reads such an output.
  std::vector<size_t> unused_inputs = {}, unused_outputs = {};
  size_t scratch_bytes = 0;
  // Pairs {output, input} that may share memory if nothing needs the input afterwards.
  std::vector<std::pair<int, int>> may_share = {};
  std::vector<LogLine> notes = {};  // on the choice
};

}  // namespace troika
