// One walk over all nodes.
#include "passes/links.h"

#include "passes/passes.h"

namespace troika {

Links::Links(Graph& graph) : uses_(count_uses(graph)), makers_(uses_.size()), readers_(uses_.size()) {
  for (Node& node : graph.nodes()) {
    for (ValueId id : node.outputs) makers_[id] = &node;
    for (ValueId id : node.inputs)
      if (id != kNoValue) readers_[id].push_back(&node);
  }
}

}  // namespace troika
