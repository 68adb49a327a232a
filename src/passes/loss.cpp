// append_loss: the loss as an op of the graph.
#include "ops/losses.h"
#include "passes/optimizer.h"
#include "passes/passes.h"

namespace troika {

void append_loss(Graph& graph, Loss kind, double scale, bool is_scaled) {
  const ValueId output = graph.outputs.at(0);
  const Shape shape = graph.type(output).shape;
  auto inputs = [&](ValueId target) {
    std::vector<ValueId> ids = {output, target};
    if (is_scaled) ids.push_back(graph.add_value(kLossScale, {DType::f32, {2}}, Role::buffer));
    return ids;
  };
  if (kind == Loss::cross_entropy) {
    const ValueId target = graph.add_value("target", {DType::i32, {shape[0]}}, Role::targets);
    const auto results = append_node(graph, cross_entropy_op, "loss", inputs(target), {{"scale", scale}});
    graph.outputs = {{results[loss::sum], Report::loss}, {results[loss::correct], Report::correct}};
  } else {
    const ValueId target = graph.add_value("target", {DType::f32, shape}, Role::targets);
    const auto results = append_node(graph, mean_squared_error_op, "loss", inputs(target), {{"scale", scale}});
    graph.outputs = {{results[loss::sum], Report::loss}};
  }
}

}  // namespace troika
