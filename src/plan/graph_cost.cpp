// Times of nodes, sums and messages, and the lifetimes of values.
#include "plan/graph_cost.h"

#include <algorithm>
#include <cmath>

#include "ops/op_def.h"
#include "plan/memory_plan.h"

namespace troika {

double node_seconds(const Graph& graph, const Node& node, const Machine& machine) {
  const OpDef& op = *node.op;
  if (op.is_view || op.communicates()) return 0;
  const Cost cost = cost_of(graph, node);
  return std::max(cost.operations / machine.operations, (cost.bytes + cost.state_bytes) / machine.memory_bandwidth);
}

double message_seconds(size_t bytes, const Machine& machine) {
  return machine.link_latency + static_cast<double>(bytes) / machine.link_bandwidth;
}

double sum_seconds(size_t bytes, int devices, const Machine& machine) {
  const int local = machine.devices_per_node > 0 ? std::min(machine.devices_per_node, devices) : devices;
  const auto whole = static_cast<double>(bytes);
  const double within = 2.0 * (local - 1) * (machine.link_latency + whole / local / machine.link_bandwidth);
  const int nodes = devices / local;
  if (nodes == 1) return within;
  const double rounds = 2 * std::ceil(std::log2(nodes));
  return within + rounds * machine.node_latency + 2.0 * (nodes - 1) / nodes * whole / machine.node_bandwidth;
}

size_t activation_bytes(const Graph& graph) {
  const size_t values = graph.values().size();
  const int end = static_cast<int>(graph.nodes().size());
  std::vector<ValueId> stored_in(values);  // a view is stored in the value that it shows
  std::vector<MemoryBlock> blocks(values);
  for (ValueId id = 0; id < values; ++id) {
    stored_in[id] = id;
    if (is_input(graph.value(id).role)) blocks[id] = {graph.type(id).bytes(), -1, -1, 0};
  }
  for (int now = 0; now < end; ++now) {
    const Node& node = graph.nodes()[static_cast<size_t>(now)];
    for (ValueId id : node.inputs)
      if (id != kNoValue) blocks[stored_in[id]].last = now;
    for (ValueId id : node.outputs) {
      if (node.op->is_view)
        stored_in[id] = stored_in[node.inputs[0]];
      else if (!is_state(graph.value(id).role))
        blocks[id] = {graph.type(id).bytes(), now, now, 0};
    }
  }
  for (ValueId id : graph.outputs) blocks[stored_in[id]].last = end;
  // state, and values that nothing makes
  std::erase_if(blocks, [](const MemoryBlock& block) { return block.bytes == 0; });
  return plan_memory(blocks);
}

}  // namespace troika
