// The cut by cost, and stages of nodes.
#include "parallel/layer_stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// What is worth an operation of a device that computes: bytes that it reads or writes, and bytes that it sends.
constexpr double kOperationsOfByte = 4, kOperationsOfSentByte = 16;
// How much longer the costliest stage may take where that saves memory.
constexpr double kSlack = 1.02;

// Of a sample. By layer: its operations and traffic, in operations, and the memory of its outputs; by cut in front of a layer:
// bytes of values that cross it.
struct Costs {
  std::vector<double> layers, memory, cuts;
};

// The layer of each node: those of one name behind each other make one, and share its parameters.
std::vector<size_t> find_layers(const std::vector<Node>& nodes) {
  std::vector<size_t> of_node(nodes.size(), 0);
  for (size_t i = 1; i < nodes.size(); ++i) of_node[i] = of_node[i - 1] + (nodes[i].name != nodes[i - 1].name);
  return of_node;
}

Costs costs_of(const Graph& model, const std::vector<size_t>& layer_of, size_t layers) {
  std::vector<size_t> made(model.values().size(), 0), last_read(model.values().size(), 0);
  Costs costs{std::vector<double>(layers, 0), std::vector<double>(layers, 0), std::vector<double>(layers + 1, 0)};
  for (size_t i = 0; i < layer_of.size(); ++i) {
    const Node& node = model.nodes()[i];
    const Cost cost = cost_of(model, node);
    costs.layers[layer_of[i]] += cost.operations + (op_def(node.op).is_view ? 0 : kOperationsOfByte * cost.bytes);
    costs.memory[layer_of[i]] += cost.activation_bytes;
    for (ValueId id : node.outputs) made[id] = layer_of[i];
    for (ValueId id : node.inputs)
      if (id != kNoValue) last_read[id] = layer_of[i];
  }
  for (ValueId id = 0; id < model.values().size(); ++id)
    if (model.value(id).role == Role::activation)
      for (size_t cut = made[id] + 1; cut <= last_read[id]; ++cut)
        costs.cuts[cut] += static_cast<double>(model.type(id).bytes());
  return costs;
}

// Partitions of layers into stages, by dynamic programming.
class Cutter {
 public:
  Cutter(Costs costs, size_t stages) : costs_(std::move(costs)), stages_(stages), n_(costs_.layers.size()) {
    for (auto [sums, of_layers] : {std::pair{&times_, &costs_.layers}, {&memory_, &costs_.memory}}) {
      sums->resize(n_ + 1);
      std::partial_sum(of_layers->begin(), of_layers->end(), sums->begin() + 1);
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
    return times_[end] - times_[begin] + kOperationsOfSentByte * costs_.cuts[begin];
  }
  // Stage s of S keeps the activations of S - s micro-batches at once, in one forward, one backward.
  double memory_of(size_t stage, size_t begin, size_t end) const {
    return static_cast<double>(stages_ - stage) * (memory_[end] - memory_[begin]);
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

  const Costs costs_;
  const size_t stages_, n_;
  std::vector<double> times_, memory_;  // of layers [0, i)
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
  if (first_layers.empty() && stages > 1) begins = Cutter(costs_of(model, layer_of, layers), wanted).cut();
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
