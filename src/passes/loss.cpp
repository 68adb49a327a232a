// append_loss: the loss as an op of the graph.
#include "passes/passes.h"

namespace troika {

void append_loss(Graph& graph, Loss loss, double scale) {
  const ValueId output = graph.outputs.at(0);
  const Shape shape = graph.type(output).shape;
  if (loss == Loss::cross_entropy) {
    const ValueId target = graph.add_value("target", {DType::i32, {shape[0]}}, Role::input);
    const auto results = append_node(graph, "cross_entropy", "loss", {output, target}, {{"scale", scale}});
    graph.outputs = {results[0], results[1]};
  } else {
    const ValueId target = graph.add_value("target", {DType::f32, shape}, Role::input);
    graph.outputs = append_node(graph, "mean_squared_error", "loss", {output, target}, {{"scale", scale}});
  }
}

}  // namespace troika
