// fuse_steps: parts of a sequence that are joined in time and then cut again are not joined at all.
// Recurrent layers on top of each other run in turn, one part of the sequence after another.
// Recompute then keeps only the states between two parts, of all layers.
#include <algorithm>

#include "passes/passes.h"

namespace troika {
namespace {

bool is_recurrent(const Node& node) {
  const auto* const layer = node.op->as<LayerOp>();
  return layer && layer->is_recurrent;
}

bool reads(const Node& node, const Node& earlier) {
  return std::any_of(earlier.outputs.begin(), earlier.outputs.end(),
                     [&](ValueId id) { return std::count(node.inputs.begin(), node.inputs.end(), id) > 0; });
}

std::vector<int64_t> steps_of(const Graph& graph, const std::vector<ValueId>& parts) {
  std::vector<int64_t> steps;
  for (ValueId id : parts) steps.push_back(graph.type(id).shape[1]);
  return steps;
}

// Readers of a join read the parts instead: a split into the same parts, or a slice of one part.
void skip_joins(Graph& graph) {
  std::vector<const Node*> join_of(graph.values().size());
  std::vector<ValueId> stands_for(graph.values().size());
  for (ValueId id = 0; id < stands_for.size(); ++id) stands_for[id] = id;
  for (Node& node : graph.nodes()) {
    for (ValueId& id : node.inputs)
      if (id != kNoValue) id = stands_for[id];
    if (node.op == &join_steps_op) join_of[node.outputs[0]] = &node;
    const Node* const join = node.inputs.empty() || node.inputs[0] == kNoValue ? nullptr : join_of[node.inputs[0]];
    if (!join) continue;
    if (node.op == &split_steps_op && node.attributes.list("steps") == steps_of(graph, join->inputs))
      for (size_t i = 0; i < node.outputs.size(); ++i) stands_for[node.outputs[i]] = join->inputs[i];
    if (node.op != &slice_channels_op) continue;
    const int64_t begin = node.attributes.integer("begin"), end = node.attributes.integer("end");
    int64_t first = 0;  // step of the part
    for (ValueId part : join->inputs) {
      const int64_t steps = graph.type(part).shape[1];
      if (begin >= first && end <= first + steps) {
        node.inputs[0] = part;
        node.attributes.set("begin", begin - first);
        node.attributes.set("end", end - first);
        break;
      }
      first += steps;
    }
  }
  for (Output& output : graph.outputs) output.id = stands_for[output.id];
}

// A recurrent node that reads another recurrent node's output runs as early as possible.
void run_side_by_side(Graph& graph) {
  std::vector<Node> nodes;
  std::vector<bool> is_recurrent_output(graph.values().size(), false);  // made by a recurrent node
  for (Node& node : graph.nodes()) {
    auto place = nodes.end();
    if (is_recurrent(node) && is_recurrent_output[node.inputs[0]])
      place =
          std::find_if(nodes.rbegin(), nodes.rend(), [&](const Node& earlier) { return reads(node, earlier); }).base();
    for (ValueId id : node.outputs) is_recurrent_output[id] = is_recurrent(node);
    nodes.insert(place, std::move(node));
  }
  graph.nodes() = std::move(nodes);
}

}  // namespace

void fuse_steps(Graph& graph) {
  skip_joins(graph);
  run_side_by_side(graph);
}

}  // namespace troika
