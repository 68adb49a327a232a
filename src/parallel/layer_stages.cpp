// Stages of layers and of nodes.
#include "parallel/layer_stages.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/text.h"
#include "ops/op_def.h"
#include "parallel/layer_cuts.h"

namespace troika {
namespace {

// Returns the layer of each node. Consecutive nodes of one name are one layer. If several nodes
// read a parameter, all nodes from the first of them to the last are one layer, too.
std::vector<size_t> find_layers(const Graph& model) {
  const auto& nodes = model.nodes();
  std::map<ValueId, size_t> first_reader;
  std::vector<bool> is_joined(nodes.size(), false);  // to the node before
  for (size_t i = 0; i < nodes.size(); ++i) {
    is_joined[i] = i > 0 && nodes[i].name == nodes[i - 1].name;
    for (const ValueId id : nodes[i].inputs) {
      if (id == kNoValue || model.value(id).role != Role::parameter) continue;
      const size_t first = first_reader.try_emplace(id, i).first->second;
      std::fill(is_joined.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                is_joined.begin() + static_cast<std::ptrdiff_t>(i) + 1, true);
    }
  }
  std::vector<size_t> of_node(nodes.size(), 0);
  for (size_t i = 1; i < nodes.size(); ++i) of_node[i] = of_node[i - 1] + (is_joined[i] ? 0 : 1);
  return of_node;
}

// Whether layers of two names read one parameter.
bool find_shared(const Graph& model) {
  std::map<ValueId, std::string> reader;
  for (const Node& node : model.nodes())
    for (const ValueId id : node.inputs)
      if (id != kNoValue && model.value(id).role == Role::parameter &&
          reader.try_emplace(id, node.name).first->second != node.name)
        return true;
  return false;
}

}  // namespace

LayerStages::LayerStages(const Graph& model, int stages, const std::vector<std::string>& first_layers)
    : count_(stages) {
  const auto& nodes = model.nodes();
  const std::vector<size_t> layer_of = find_layers(model);
  const size_t layers = nodes.empty() ? 0 : layer_of.back() + 1;
  const auto wanted = static_cast<size_t>(stages);
  if (wanted > layers)
    throw Error(Status::invalid_argument,
                text("model '", model.name(), "' has ", layers, layers == 1 ? " layer" : " layers",
                     find_shared(model) ? ", if all between two that share a parameter count as one" : "",
                     ", cannot be cut into ", stages, " stages"));
  std::vector<size_t> begins;
  if (first_layers.empty() && stages > 1) begins = cut_by_cost(model, layer_of, wanted);
  if (!first_layers.empty() && first_layers.size() != wanted - 1)
    throw Error(Status::invalid_argument,
                text("layer_cuts names ", first_layers.size(), " layers, ", stages, " stages need ", stages - 1));
  for (const std::string& name : first_layers) {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.name == name; });
    if (found == nodes.end())
      throw Error(Status::not_found, text("layer_cuts: model '", model.name(), "' has no layer '", name, "'"));
    const auto node = static_cast<size_t>(found - nodes.begin());
    const size_t begin = layer_of[node];
    if (node > 0 && layer_of[node - 1] == begin)
      throw Error(Status::invalid_argument, text("layer_cuts: layer '", name, "' is between layers that share a ",
                                                 "parameter, which one stage must have; cut elsewhere"));
    if (begin <= (begins.empty() ? 0 : begins.back()))
      throw Error(Status::invalid_argument, text("layer_cuts: layer '", name, "' leaves the stage before it empty"));
    begins.push_back(begin);
  }
  int stage = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    while (stage + 1 < stages && begins[static_cast<size_t>(stage)] <= layer_of[i]) ++stage;
    of_layer_[nodes[i].name] = stage;
    for (ValueId id : nodes[i].inputs) {
      if (id == kNoValue || !is_state(model.value(id).role)) continue;
      const auto [found, is_new] = of_state_.try_emplace(model.value(id).name, stage);
      if (!is_new && found->second != stage)
        throw Error(Status::invalid_argument, text("parameter '", model.value(id).name, "' is shared by stages ",
                                                   found->second, " and ", stage, "; cut elsewhere with layer_cuts"));
    }
  }
}

int LayerStages::stage_of(const std::string& layer) const {
  const auto found = of_layer_.find(layer);
  return found == of_layer_.end() ? -1 : found->second;
}

int LayerStages::stage_of_state(const std::string& name) const {
  const auto found = of_state_.find(name);
  return found == of_state_.end() ? 0 : found->second;  // no layer reads it
}

std::vector<int> LayerStages::assign(const Graph& graph) const {
  const auto& nodes = graph.nodes();
  std::vector<int> of_node(nodes.size(), -1), of_value(graph.values().size(), -1);
  constexpr int kLast = std::numeric_limits<int>::max();
  for (size_t i = 0; i < nodes.size(); ++i) {
    int& stage = of_node[i];
    stage = nodes[i].op->as<LossOp>() ? count_ - 1 : stage_of(nodes[i].name);
    if (stage < 0)
      for (ValueId id : nodes[i].inputs)
        if (id != kNoValue && of_value[id] >= 0) stage = stage < 0 ? of_value[id] : std::min(stage, of_value[id]);
    for (ValueId id : nodes[i].outputs) of_value[id] = stage;
  }
  std::vector<int> first_reader(graph.values().size(), kLast);
  for (size_t i = nodes.size(); i-- > 0;) {
    if (of_node[i] < 0) {
      int first = kLast;
      for (ValueId id : nodes[i].outputs) first = std::min(first, first_reader[id]);
      of_node[i] = first == kLast ? 0 : first;
    }
    for (ValueId id : nodes[i].inputs)
      if (id != kNoValue) first_reader[id] = std::min(first_reader[id], of_node[i]);
  }
  return of_node;
}

std::vector<bool> LayerStages::find_crossing(const Graph& graph) const {
  const std::vector<int> of_node = assign(graph);
  std::vector<int> of_value(graph.values().size(), -1);
  std::vector<bool> crosses(graph.values().size(), false);
  for (size_t i = 0; i < of_node.size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs)
      if (id != kNoValue && of_value[id] >= 0 && of_value[id] != of_node[i]) crosses[id] = true;
    for (ValueId id : graph.nodes()[i].outputs) of_value[id] = of_node[i];
  }
  return crosses;
}

}  // namespace troika
