// The cut by cost, and stages of nodes.
#include "parallel/layer_stages.h"

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

constexpr double kCrossing = 64;  // operations that sending an element is worth
constexpr double kTouching = 8;   // and writing one

// By layer: its operations; by cut in front of a layer: elements of values that cross it.
struct Costs {
  std::vector<double> layers, cuts;
};

// The layer of each node: those of one name behind each other make one, and share its parameters.
std::vector<size_t> find_layers(const std::vector<Node>& nodes) {
  std::vector<size_t> of_node(nodes.size(), 0);
  for (size_t i = 1; i < nodes.size(); ++i) of_node[i] = of_node[i - 1] + (nodes[i].name != nodes[i - 1].name);
  return of_node;
}

Costs costs_of(const Graph& model, const std::vector<size_t>& layer_of, size_t layers) {
  std::vector<size_t> made(model.values().size(), 0), last_read(model.values().size(), 0);
  Costs costs{std::vector<double>(layers, 0), std::vector<double>(layers + 1, 0)};
  for (size_t i = 0; i < layer_of.size(); ++i) {
    const Node& node = model.nodes()[i];
    double& operations = costs.layers[layer_of[i]];
    operations += cost_of(model, node).operations;
    for (ValueId id : node.outputs) {
      made[id] = layer_of[i];
      operations += kTouching * static_cast<double>(model.type(id).shape.elements());
    }
    for (ValueId id : node.inputs)
      if (id != kNoValue) last_read[id] = layer_of[i];
  }
  for (ValueId id = 0; id < model.values().size(); ++id)
    if (model.value(id).role == Role::activation)
      for (size_t cut = made[id] + 1; cut <= last_read[id]; ++cut)
        costs.cuts[cut] += static_cast<double>(model.type(id).shape.elements());
  return costs;
}

// Where stages 1, 2 ... begin: the partition whose costliest stage is cheapest, and of these the one with the least crossing.
std::vector<size_t> cut_by_cost(const Costs& costs, size_t stages) {
  const size_t n = costs.layers.size();
  struct Best {
    double most = std::numeric_limits<double>::infinity(), crossing = 0;
    size_t begin = 0;
    bool operator<(const Best& other) const {
      return most != other.most ? most < other.most : crossing < other.crossing;
    }
  };
  std::vector<double> sums(n + 1, 0);
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + costs.layers[i];
  // best[s][end]: s + 1 stages of layers [0, end).
  std::vector<std::vector<Best>> best(stages, std::vector<Best>(n + 1));
  for (size_t end = 1; end <= n; ++end) best[0][end] = {sums[end], 0, 0};
  for (size_t s = 1; s < stages; ++s)
    for (size_t end = s + 1; end <= n; ++end)
      for (size_t begin = s; begin < end; ++begin) {
        const Best& before = best[s - 1][begin];
        const double own = sums[end] - sums[begin] + kCrossing * costs.cuts[begin];
        best[s][end] =
            std::min(best[s][end], Best{std::max(before.most, own), before.crossing + costs.cuts[begin], begin});
      }
  std::vector<size_t> begins(stages - 1);
  for (size_t s = stages, end = n; s-- > 1;) begins[s - 1] = end = best[s][end].begin;
  return begins;
}

}  // namespace

LayerStages::LayerStages(const Graph& model, int stages, const std::vector<std::string>& first_layers)
    : count_(stages) {
  const auto& nodes = model.nodes();
  const std::vector<size_t> layer_of = find_layers(nodes);
  const size_t layers = nodes.empty() ? 0 : layer_of.back() + 1;
  const auto wanted = static_cast<size_t>(stages);
  if (wanted > layers)
    throw Error(Status::invalid_argument,
                text("model '", model.name(), "' has ", layers, " layers, cannot be cut into ", stages, " stages"));
  std::vector<size_t> begins;
  if (first_layers.empty() && stages > 1) begins = cut_by_cost(costs_of(model, layer_of, layers), wanted);
  if (!first_layers.empty() && first_layers.size() != wanted - 1)
    throw Error(Status::invalid_argument,
                text("layer_cuts names ", first_layers.size(), " layers, ", stages, " stages need ", stages - 1));
  for (const std::string& name : first_layers) {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.name == name; });
    if (found == nodes.end())
      throw Error(Status::not_found, text("layer_cuts: model '", model.name(), "' has no layer '", name, "'"));
    const size_t begin = layer_of[static_cast<size_t>(found - nodes.begin())];
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
  return found == of_state_.end() ? 0 : found->second;  // read by no layer
}

std::vector<int> LayerStages::assign(const Graph& graph) const {
  const auto& nodes = graph.nodes();
  std::vector<int> of_node(nodes.size(), -1), of_value(graph.values().size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    int& stage = of_node[i];
    stage = nodes[i].op.starts_with("cross_entropy") || nodes[i].op.starts_with("mean_squared_error")
                ? count_ - 1
                : stage_of(nodes[i].name);
    if (stage < 0)
      for (ValueId id : nodes[i].inputs)
        if (id != kNoValue && of_value[id] >= 0) stage = stage < 0 ? of_value[id] : std::min(stage, of_value[id]);
    for (ValueId id : nodes[i].outputs) of_value[id] = stage;
  }
  for (size_t i = nodes.size(); i-- > 0;) {
    if (of_node[i] < 0) {
      for (ValueId id : nodes[i].outputs) of_node[i] = std::max(of_node[i], of_value[id]);
      if (of_node[i] < 0) of_node[i] = 0;
    }
    for (ValueId id : nodes[i].inputs)
      if (id != kNoValue && of_value[id] < 0) of_value[id] = of_node[i];
  }
  return of_node;
}

}  // namespace troika
