// fuse_moments: a convolution's kernel may sum what it stores, so that batch_norm2d does not read its
// input once more for its mean and variance.
#include "ops/batch_norm2d.h"
#include "passes/passes.h"

namespace troika {

void fuse_moments(Graph& graph, const MomentRows& rows_of) {
  std::vector<Node*> makers(graph.values().size(), nullptr);  // the convolution that makes each value
  for (Node& node : graph.nodes()) {
    if (node.op == &conv2d_op && !node.attributes.flag("relu")) makers[node.outputs[0]] = &node;
    if (node.op != &batch_norm2d_op || !makers[node.inputs[batch_norm2d::x]]) continue;
    Node& conv2d = *makers[node.inputs[batch_norm2d::x]];
    node.inputs.resize(std::max<size_t>(node.inputs.size(), batch_norm2d::moments + 1), kNoValue);
    if (node.inputs[batch_norm2d::moments] != kNoValue) continue;  // of all ranks
    if (!conv2d.attributes.has("moments")) {
      const int64_t rows = rows_of(graph, conv2d);
      if (rows == 0) continue;
      conv2d.attributes.set("moments", rows);
      const Shape shape{rows, 2 * graph.type(conv2d.outputs[0]).shape[1] + 1};
      conv2d.outputs.push_back(graph.add_value("", {DType::f32, shape}));
      makers.push_back(nullptr);
    }
    node.inputs[batch_norm2d::moments] = conv2d.outputs[1];
  }
}

}  // namespace troika
