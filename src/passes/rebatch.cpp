// rebatch: a graph for another batch size.
#include "passes/passes.h"

namespace troika {

Graph rebatch(const Graph& graph, int64_t batch) {
  Graph result = graph;
  // Only samples have the batch as dimension 0; all other shapes follow from them.
  for (ValueId id = 0; id < result.values().size(); ++id)
    if (result.value(id).role == Role::samples) result.value(id).type.shape[0] = batch;
  for (Node& node : result.nodes()) {
    const std::vector<TensorType> types = infer_types(result, node);
    for (size_t i = 0; i < types.size(); ++i) result.value(node.outputs[i]).type = types[i];
  }
  return result;
}

}  // namespace troika
