// run_beside: gradients of weights, which nothing reads before the update, run beside the rest of the backward pass: they fill
// what short launches leave of a GPU, and multiply while others wait for memory.
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
