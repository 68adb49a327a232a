// fuse_sums: a convolution's kernel may sum what it stores, so that batch_norm2d does not read its
// input once more for mean and variance. In the same way the kernel of an input gradient may apply
// the ReLU's gradient and sum for batch_norm2d's gradient.
#include <algorithm>

#include "ops/batch_norm2d.h"
#include "ops/products.h"
#include "passes/passes.h"

namespace troika {
namespace {

// Adds the output of sums to a node of a convolution with c channels.
void add_sums(Graph& graph, Node& node, int64_t rows, int64_t channels) {
  node.attributes.set("sums", rows);
  node.outputs.push_back(graph.add_value("", {DType::f32, {rows, 2 * channels + 1}}));
}

// Returns the place of the node that makes each value; -1: an input, or state.
std::vector<ptrdiff_t> places_of_makers(const Graph& graph) {
  std::vector<ptrdiff_t> places(graph.values().size(), -1);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId id : graph.nodes()[i].outputs) places[id] = static_cast<ptrdiff_t>(i);
  return places;
}

void fuse_moments(Graph& graph, const RowsOfSums& rows_of) {
  std::vector<Node*> makers(graph.values().size(), nullptr);  // the convolution that makes each value
  for (Node& node : graph.nodes()) {
    if (node.op == &conv2d_op && !node.attributes.flag("relu") && node.inputs[product::bias] == kNoValue)
      makers[node.outputs[0]] = &node;
    if (node.op != &batch_norm2d_op || !makers[node.inputs[batch_norm2d::x]]) continue;
    Node& conv2d = *makers[node.inputs[batch_norm2d::x]];
    const bool has_moments =
        node.inputs.size() > batch_norm2d::moments && node.inputs[batch_norm2d::moments] != kNoValue;
    if (has_moments) continue;  // of all ranks
    if (conv2d.outputs.size() == 1) {
      const int64_t rows = rows_of(graph, conv2d);
      if (rows == 0) continue;
      add_sums(graph, conv2d, rows, graph.type(conv2d.outputs[0]).shape[1]);
      makers.push_back(nullptr);
    }
    node.inputs.resize(std::max<size_t>(node.inputs.size(), batch_norm2d::moments + 1), kNoValue);
    node.inputs[batch_norm2d::moments] = conv2d.outputs[1];
  }
}

void fuse_gradient_sums(Graph& graph, const RowsOfSums& rows_of) {
  using namespace batch_norm2d_gradient;
  const std::vector<int> uses = count_uses(graph);
  const std::vector<ptrdiff_t> places = places_of_makers(graph);
  std::vector<Node*> makers(graph.values().size(), nullptr);  // the batch_norm2d or input gradient of each value
  for (Node& node : graph.nodes()) {
    if (node.op == &batch_norm2d_op || node.op == &conv2d_input_gradient_op) makers[node.outputs[0]] = &node;
    if (node.op != &batch_norm2d_gradient_op || node.inputs.size() != dy + 1 || node.inputs[y] == kNoValue ||
        node.attributes.flag("residual") || uses[node.inputs[dy]] != 1)
      continue;
    const Node* const forward = makers[node.inputs[y]];
    Node* const gradient = makers[node.inputs[dy]];
    if (!forward || forward->op != &batch_norm2d_op || !gradient || gradient->op != &conv2d_input_gradient_op) continue;
    const ValueId more[] = {node.inputs[x],      node.inputs[y],
                            node.inputs[weight], forward->inputs[batch_norm2d::bias],
                            node.inputs[mean],   node.inputs[inv_std]};
    // If values are computed again, one of them may be made only after the input gradient.
    if (std::any_of(std::begin(more), std::end(more),
                    [&](ValueId id) { return places[id] >= places[gradient->outputs[0]]; }))
      continue;
    const int64_t rows = rows_of(graph, *gradient);
    if (rows == 0) continue;
    gradient->inputs.insert(gradient->inputs.end(), std::begin(more), std::end(more));
    add_sums(graph, *gradient, rows, graph.type(gradient->outputs[0]).shape[1]);
    makers.push_back(nullptr);
    node.inputs.resize(all_sums + 1, kNoValue);
    node.inputs[y] = kNoValue;  // dy has its mask
    node.inputs[own_sums] = node.inputs[all_sums] = gradient->outputs[1];
    node.attributes.set("relu", int64_t{0});
  }
}

}  // namespace

void fuse_sums(Graph& graph, const RowsOfSums& rows_of) {
  fuse_moments(graph, rows_of);
  fuse_gradient_sums(graph, rows_of);
}

}  // namespace troika
