// The cut by cost, and stages of nodes.
#include "parallel/layer_stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "core/text.h"
#include "passes/passes.h"

namespace troika {
namespace {

// What is worth an operation of a device that computes: bytes that it reads or writes, and bytes that it sends.
constexpr double kOperationsOfByte = 4, kOperationsOfSentByte = 16;
// How much longer the costliest stage may take where that saves memory.
constexpr double kSlack = 1.02;

// Of a sample, by layer.
struct Costs {
  std::vector<double> times;            // operations and traffic of the forward pass, in operations
  std::vector<std::set<ValueId>> kept;  // what the backward pass reads of the forward pass
  std::map<ValueId, double> kept_bytes;
  std::vector<double> cuts;  // bytes of values that cross a cut in front of the layer
};

// The layer of each node: those of one name behind each other make one, and share its parameters.
std::vector<size_t> find_layers(const std::vector<Node>& nodes) {
  std::vector<size_t> of_node(nodes.size(), 0);
  for (size_t i = 1; i < nodes.size(); ++i) of_node[i] = of_node[i - 1] + (nodes[i].name != nodes[i - 1].name);
  return of_node;
}

Costs costs_of(const Graph& model, const std::vector<size_t>& layer_of, size_t layers) {
  Costs costs{
      std::vector<double>(layers, 0), std::vector<std::set<ValueId>>(layers), {}, std::vector<double>(layers + 1, 0)};
  std::vector<size_t> made(model.values().size(), 0), last_read(model.values().size(), 0);
  std::map<std::string, size_t> layer_named;
  for (size_t i = 0; i < layer_of.size(); ++i) {
    const Node& node = model.nodes()[i];
    layer_named[node.name] = layer_of[i];
    for (ValueId id : node.outputs) made[id] = layer_of[i];
    for (ValueId id : node.inputs)
      if (id != kNoValue) last_read[id] = layer_of[i];
  }
  for (ValueId id = 0; id < model.values().size(); ++id)
    if (model.value(id).role == Role::activation)
      for (size_t cut = made[id] + 1; cut <= last_read[id]; ++cut)
        costs.cuts[cut] += static_cast<double>(model.type(id).bytes());

  Graph step = model;  // as it is trained
  std::vector<std::string> parameters;
  for (const Value& value : model.values())
    if (value.role == Role::parameter) parameters.push_back(value.name);
  append_loss(step, Loss::mean_squared_error, 1);
  fuse(step);
  const size_t forward_nodes = step.nodes().size(), forward_values = step.values().size();
  autodiff(step, parameters);
  const std::vector<ValueId> memory = find_memory(step);
  for (size_t i = 0; i < step.nodes().size(); ++i) {
    const Node& node = step.nodes()[i];
    const auto layer = layer_named.find(node.name);
    if (layer == layer_named.end()) continue;  // the loss, and sums of gradients
    if (i < forward_nodes) {
      const Cost cost = cost_of(step, node);
      costs.times[layer->second] += cost.operations + (op_def(node.op).is_view ? 0 : kOperationsOfByte * cost.bytes);
      continue;
    }
    for (ValueId id : node.inputs) {
      if (id == kNoValue || id >= forward_values || is_state(step.value(id).role)) continue;
      costs.kept[layer->second].insert(memory[id]);
      costs.kept_bytes[memory[id]] = static_cast<double>(step.type(memory[id]).bytes());
    }
  }
  return costs;
}

// Partitions of layers into stages, by dynamic programming.
class Cutter {
 public:
  Cutter(const Costs& costs, size_t stages) : costs_(costs), stages_(stages), n_(costs.times.size()) {
    for (size_t begin = 0; begin < n_; ++begin) {
      auto& kept = kept_.emplace_back(n_ + 1, 0);
      std::set<ValueId> values;
      for (size_t layer = begin; layer < n_; ++layer) {
        kept[layer + 1] = kept[layer];
        for (ValueId id : costs.kept[layer])
          if (values.insert(id).second) kept[layer + 1] += costs.kept_bytes.at(id);
      }
    }
  }

  // Where stages 1, 2 ... begin: of the partitions whose costliest stage takes at most kSlack times as long as it must, the one
  // whose fullest stage has least to keep; of these the one that sends least.
  std::vector<size_t> cut() const {
    const double least = find(std::numeric_limits<double>::infinity(), false).back()[n_].most;
    const Table best = find(kSlack * least, true);
    std::vector<size_t> begins(stages_ - 1);
    for (size_t s = stages_, end = n_; s-- > 1;) begins[s - 1] = end = best[s][end].begin;
    return begins;
  }

 private:
  struct Best {
    double most = std::numeric_limits<double>::infinity(), sent = 0;
    size_t begin = 0;
    bool operator<(const Best& other) const { return most != other.most ? most < other.most : sent < other.sent; }
  };
  using Table = std::vector<std::vector<Best>>;  // [s][end]: of s + 1 stages of layers [0, end)

  double time_of(size_t begin, size_t end) const {
    return std::accumulate(costs_.times.begin() + static_cast<ptrdiff_t>(begin),
                           costs_.times.begin() + static_cast<ptrdiff_t>(end),
                           kOperationsOfSentByte * costs_.cuts[begin]);
  }
  // Stage s of S keeps what is read again of S - s micro-batches at once, in one forward, one backward.
  double memory_of(size_t stage, size_t begin, size_t end) const {
    return static_cast<double>(stages_ - stage) * kept_[begin][end];
  }

  // The partition whose largest stage is smallest, by memory or by time, where no stage takes longer than `limit`.
  Table find(double limit, bool by_memory) const {
    Table best(stages_, std::vector<Best>(n_ + 1));
    for (size_t s = 0; s < stages_; ++s)
      for (size_t end = s + 1; end <= n_; ++end)
        for (size_t begin = s; begin < (s == 0 ? 1 : end); ++begin) {
          const Best before = s == 0 ? Best{0, 0, 0} : best[s - 1][begin];
          const double time = time_of(begin, end);
          if (time > limit) continue;
          const double own = by_memory ? memory_of(s, begin, end) : time;
          best[s][end] =
              std::min(best[s][end], Best{std::max(before.most, own), before.sent + costs_.cuts[begin], begin});
        }
    return best;
  }

  const Costs& costs_;
  const size_t stages_, n_;
  std::vector<std::vector<double>> kept_;  // [begin][end]: bytes that layers [begin, end) keep
};

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
  if (first_layers.empty() && stages > 1) {
    const Costs costs = costs_of(model, layer_of, layers);
    begins = Cutter(costs, wanted).cut();
  }
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
  constexpr int kLast = std::numeric_limits<int>::max();
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
