// run_beside: nothing reads gradients of weights before the update, so they run concurrently with
// the rest of the backward pass. They fill the parts of a GPU that short launches leave free, and
// multiply while other launches wait for memory.
#include "passes/passes.h"

namespace troika {

void run_beside(Graph& graph, double least_operations) {
  for (Node& node : graph.nodes()) {
    const auto* const gradient = node.op->as<GradientOp>();
    if (gradient && gradient->is_of_weights && cost_of(graph, node).operations >= least_operations)
      node.attributes.set("beside", int64_t{1});
  }
}

}  // namespace troika
