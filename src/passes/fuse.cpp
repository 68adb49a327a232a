// fuse: neighbours that one kernel computes in one pass. The patterns by name:
//   flatten_linear:      reshape -> linear                linear reads an image as it is stored
//   batch_norm_add_relu: batch_norm2d -> add -> relu      batch_norm2d's second pass adds the
//                                                         residual and cuts at 0; not if the stages
//                                                         of batch_norm2d and add differ
//   relu:                conv2d | linear | batch_norm2d | add -> relu
#include "ops/batch_norm2d.h"
#include "ops/linear.h"
#include "passes/passes.h"

namespace troika {

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values().size(), 0);
  for (const Node& node : graph.nodes())
    for (ValueId id : node.inputs)
      if (id != kNoValue) ++uses[id];
  for (ValueId id : graph.outputs) ++uses[id];
  return uses;
}

namespace {

// The node that makes each value; -1: none.
std::vector<int> makers(const Graph& graph) {
  std::vector<int> maker(graph.values().size(), -1);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId id : graph.nodes()[i].outputs) maker[id] = static_cast<int>(i);
  return maker;
}

bool is_batch_norm(const Node& node) { return node.op == &batch_norm2d_op || node.op == &batch_norm2d_inference_op; }

bool can_fuse_relu(const Node& node) {
  const auto* const layer = node.op->as<LayerOp>();
  return layer && layer->fuses_relu && !node.attributes.flag("relu");
}

void fuse_flatten_linear(Graph& graph) {
  const auto maker = makers(graph);
  for (Node& node : graph.nodes())
    if (node.op == &linear_op && !is_per_position(node) && maker[node.inputs[0]] >= 0) {
      const Node& source = graph.nodes()[static_cast<size_t>(maker[node.inputs[0]])];
      if (source.op == &reshape_op && graph.type(source.inputs[0]).shape.rank() > 1) node.inputs[0] = source.inputs[0];
    }
}

// y = relu(x), if only this relu reads x, and the maker of x can cut at 0 itself.
void fuse_relu(Graph& graph) {
  const auto maker = makers(graph);
  const auto uses = count_uses(graph);
  std::vector<char> is_gone(graph.nodes().size(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& relu = graph.nodes()[i];
    if (relu.op != &relu_op || uses[relu.inputs[0]] != 1 || maker[relu.inputs[0]] < 0) continue;
    Node& source = graph.nodes()[static_cast<size_t>(maker[relu.inputs[0]])];
    if (source.outputs[0] != relu.inputs[0]) continue;
    if (!can_fuse_relu(source)) continue;
    source.attributes.set("relu", int64_t{1});
    source.outputs[0] = relu.outputs[0];
    is_gone[i] = 1;
  }
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (!is_gone[i]) kept.push_back(std::move(graph.nodes()[i]));
  graph.nodes() = std::move(kept);
}

// y = relu(batch_norm2d(x) + r), if only the add reads batch_norm2d's output. The fused node takes
// the place of the add: both inputs are available there.
void fuse_batch_norm_add(Graph& graph, const StageOf& stage_of) {
  const auto maker = makers(graph);
  const auto uses = count_uses(graph);
  std::vector<char> is_gone(graph.nodes().size(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].op != &add_op) continue;
    Node& add = graph.nodes()[i];
    for (size_t side = 0; side < 2; ++side) {
      const ValueId x = add.inputs[side], residual = add.inputs[1 - side];
      if (uses[x] != 1 || maker[x] < 0 || x == residual) continue;
      const size_t source_index = static_cast<size_t>(maker[x]);
      Node& source = graph.nodes()[source_index];
      if (is_gone[source_index] || !is_batch_norm(source) || source.outputs[0] != x ||
          source.inputs[batch_norm2d::residual] != kNoValue)
        continue;
      if (source.attributes.flag("relu") || (stage_of && stage_of(source.name) != stage_of(add.name))) continue;
      Node fused = source;
      fused.inputs[batch_norm2d::residual] = residual;
      fused.outputs[0] = add.outputs[0];
      if (add.attributes.flag("relu")) fused.attributes.set("relu", int64_t{1});
      add = std::move(fused);
      is_gone[source_index] = 1;
      break;
    }
  }
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (!is_gone[i]) kept.push_back(std::move(graph.nodes()[i]));
  graph.nodes() = std::move(kept);
}

}  // namespace

void fuse(Graph& graph, const StageOf& stage_of) {
  fuse_steps(graph);
  fuse_flatten_linear(graph);
  fuse_batch_norm_add(graph, stage_of);
  fuse_relu(graph);
  remove_dead_code(graph);
}

}  // namespace troika
