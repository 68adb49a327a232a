// append_loss: the loss as an op of the graph.
#include "passes/passes.h"

namespace troika {

void append_loss(Graph& graph, Loss loss, double scale, bool is_scaled) {
  const ValueId output = graph.outputs.at(0);
  const Shape shape = graph.type(output).shape;
  auto inputs = [&](ValueId target) {
    std::vector<ValueId> ids = {output, target};
    if (is_scaled) ids.push_back(graph.add_value(kLossScale, {DType::f32, {2}}, Role::buffer));
    return ids;
  };
  if (loss == Loss::cross_entropy) {
    const ValueId target = graph.add_value("target", {DType::i32, {shape[0]}}, Role::input);
    const auto results = append_node(graph, cross_entropy_op, "loss", inputs(target), {{"scale", scale}});
    graph.outputs = {results[0], results[1]};
  } else {
    const ValueId target = graph.add_value("target", {DType::f32, shape}, Role::input);
    graph.outputs = append_node(graph, mean_squared_error_op, "loss", inputs(target), {{"scale", scale}});
  }
}

}  // namespace troika
