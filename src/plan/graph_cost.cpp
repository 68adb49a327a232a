// Times of nodes, sums and messages, and the lifetimes of values.
#include "plan/graph_cost.h"

#include <algorithm>
#include <cmath>

#include "ops/op_def.h"
#include "plan/memory_plan.h"

namespace troika {

namespace {

// By recursive halving and doubling: as many bytes as a ring sends, in 2 log2 n rounds of messages
// instead of 2 (n - 1). With thousands of devices the rounds of a ring would take all the time.
double halving_seconds(double bytes, int members, double latency, double bandwidth) {
  if (members == 1) return 0;
  return 2 * std::ceil(std::log2(members)) * latency + 2.0 * (members - 1) / members * bytes / bandwidth;
}

}  // namespace

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
  return halving_seconds(whole, local, machine.link_latency, machine.link_bandwidth) +
         halving_seconds(whole, devices / local, machine.node_latency, machine.node_bandwidth);
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
