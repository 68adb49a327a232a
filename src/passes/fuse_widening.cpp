// fuse_widening: gradients of weights that kernels return in 16 bits become f32 in one launch.
#include <algorithm>

#include "ops/products.h"
#include "passes/passes.h"

namespace troika {
namespace {

// A launch costs as much time as widening a million elements. Gradients with more elements than
// this are not kept until all are there.
constexpr int64_t kMostElements = 4 << 20;

bool reads_one_of(const Node& node, const std::vector<ValueId>& values) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return std::find(values.begin(), values.end(), id) != values.end(); });
}

}  // namespace

void fuse_widening(Graph& graph, const RoundsGradient& rounds) {
  Node widening{&cast_all_op, "gradients", {}, {}, {{"dtype", static_cast<int64_t>(DType::f32)}}};
  for (Node& node : graph.nodes()) {
    if (node.op != &conv2d_weight_gradient_op) continue;
    const ValueId gradient = node.outputs[weight_gradient::dweight];
    const DType low = graph.type(node.inputs[weight_gradient::dy]).dtype;
    // Micro-batches add up theirs first.
    if (low == DType::f32 || graph.value(gradient).role != Role::gradient ||
        graph.type(gradient).shape.elements() > kMostElements || !rounds(graph, node))
      continue;
    const ValueId rounded = graph.add_value("", {low, graph.type(gradient).shape});
    node.attributes.set("rounded", int64_t{1});
    node.outputs[weight_gradient::dweight] = rounded;
    widening.inputs.push_back(rounded);
    widening.outputs.push_back(gradient);
  }
  if (widening.inputs.empty()) return;
  std::vector<Node>& nodes = graph.nodes();
  const auto reader =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return reads_one_of(node, widening.outputs); });
  nodes.insert(reader, std::move(widening));
}

}  // namespace troika
