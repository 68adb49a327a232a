// append_loss: the loss as an op of the graph.
#include "passes/loss.h"

#include "core/error.h"
#include "core/text.h"
#include "passes/optimizer.h"

namespace troika {

const OpDef& op_of(Loss loss) {
  switch (loss) {
    case Loss::cross_entropy: return cross_entropy_op;
    case Loss::mean_squared_error: return mean_squared_error_op;
    case Loss::mean_absolute_error: return mean_absolute_error_op;
    case Loss::huber: return huber_op;
    case Loss::binary_cross_entropy: return binary_cross_entropy_op;
  }
  throw Error(Status::internal, text("no loss has the number ", static_cast<int>(loss)));
}

void append_loss(Graph& graph, const LossForm& form) {
  const ValueId output = graph.outputs.at(0);
  const Shape shape = graph.type(output).shape;
  Attributes attributes = {{"scale", form.scale}};
  form.labels.write(attributes);
  auto inputs = [&](ValueId target, const Shape& labels) {
    std::vector<ValueId> ids = {output, target};
    if (form.is_scaled) ids.push_back(graph.add_value(kLossScale, {DType::f32, {2}}, Role::buffer));
    if (form.is_weighed) {
      ids.resize(loss::label_weight, kNoValue);
      ids.push_back(graph.add_value(kLabelWeight, {DType::f32, {1}}, Role::label_weight));
    }
    if (form.has_weights) {
      ids.resize(loss::weights, kNoValue);
      ids.push_back(graph.add_value("weights", {DType::f32, labels}, Role::weights));
    }
    return ids;
  };
  if (form.kind == Loss::cross_entropy) {
    const ValueId target = graph.add_value("target", {DType::i32, labels_shape(shape)}, Role::targets);
    const auto results =
        append_node(graph, cross_entropy_op, "loss", inputs(target, labels_shape(shape)), attributes);
    graph.outputs = {{results[loss::sum], Report::loss}, {results[loss::correct], Report::correct}};
  } else {
    const ValueId target = graph.add_value("target", {DType::f32, shape}, Role::targets);
    if (form.kind == Loss::huber) attributes.set("delta", form.delta);
    const auto results = append_node(graph, op_of(form.kind), "loss", inputs(target, {shape[0]}), attributes);
    graph.outputs = {{results[loss::sum], Report::loss}};
  }
}

void append_own_loss(Graph& graph) {
  const ValueId output = graph.outputs.at(0);
  const ValueId target = graph.add_value("target", {DType::f32, graph.type(output).shape}, Role::targets);
  graph.outputs = {{append_node(graph, own_loss_op, "loss", {output, target})[0], Report::value}};
}

int64_t labels_per_sample(Loss kind, const Shape& output) {
  if (kind != Loss::cross_entropy) return 1;
  const Shape labels = labels_shape(output);
  return labels.elements(1, labels.rank());
}

}  // namespace troika
