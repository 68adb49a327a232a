// remove_dead_code: drops nodes whose results nothing reads.
#include "passes/passes.h"

namespace troika {

void remove_dead_code(Graph& graph) {
  std::vector<bool> is_read(graph.values().size(), false);
  for (ValueId id : graph.outputs) is_read[id] = true;
  std::vector<bool> is_kept(graph.nodes().size(), false);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool live = node.op->communicates();
    for (int changed : node.op->mutates) live = live || node.inputs[static_cast<size_t>(changed)] != kNoValue;
    for (ValueId id : node.outputs) live = live || is_read[id] || is_state(graph.value(id).role);
    is_kept[i] = live;
    if (live)
      for (ValueId id : node.inputs)
        if (id != kNoValue) is_read[id] = true;
  }
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (is_kept[i]) kept.push_back(std::move(graph.nodes()[i]));
  graph.nodes() = std::move(kept);
}

}  // namespace troika
