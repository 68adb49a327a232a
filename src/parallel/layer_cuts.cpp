// Costs of layers in training, and the best partition of the layers.
#include "parallel/layer_cuts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "passes/loss.h"
#include "passes/passes.h"

namespace troika {
namespace {

// Operations that take as long as one byte read or written, and as one byte sent.
constexpr double kOperationsOfByte = 4, kOperationsOfSentByte = 16;
// The slowest stage may take this much longer if that saves memory.
constexpr double kSlack = 1.02;

// Costs per sample, by layer.
struct Costs {
  std::vector<double> times;            // operations and traffic of the forward pass, in operations
  std::vector<std::set<ValueId>> kept;  // values of the forward pass that the backward pass reads
  std::map<ValueId, double> kept_bytes;
  std::vector<double> cuts;
};

// Returns the bytes of values that cross a cut before each layer, and after the last layer.
std::vector<double> find_cuts(const Graph& model, const std::vector<size_t>& layer_of) {
  std::vector<size_t> made(model.values().size(), 0), last_read(model.values().size(), 0);
  for (size_t i = 0; i < layer_of.size(); ++i) {
    for (ValueId id : model.nodes()[i].outputs) made[id] = layer_of[i];
    for (ValueId id : model.nodes()[i].inputs)
      if (id != kNoValue) last_read[id] = layer_of[i];
  }
  std::vector<double> cuts(layer_of.back() + 2, 0);
  for (ValueId id = 0; id < model.values().size(); ++id)
    if (model.value(id).role == Role::activation)
      for (size_t cut = made[id] + 1; cut <= last_read[id]; ++cut)
        cuts[cut] += static_cast<double>(model.type(id).bytes());
  return cuts;
}

// Returns the parameters that reach the loss. Other parameters must be frozen.
std::vector<std::string> find_parameters(const Graph& step) {
  std::vector<bool> reaches(step.values().size(), false);
  reaches[step.outputs.at(0)] = true;
  for (auto node = step.nodes().rbegin(); node != step.nodes().rend(); ++node)
    if (std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) { return reaches[id]; }))
      for (ValueId id : node->inputs)
        if (id != kNoValue) reaches[id] = true;
  std::vector<std::string> names;
  for (ValueId id = 0; id < reaches.size(); ++id)
    if (reaches[id] && step.value(id).role == Role::parameter) names.push_back(step.value(id).name);
  return names;
}

Costs costs_of(const Graph& model, const std::vector<size_t>& layer_of) {
  const size_t layers = layer_of.back() + 1;
  Costs costs{std::vector<double>(layers, 0), std::vector<std::set<ValueId>>(layers), {}, find_cuts(model, layer_of)};
  std::map<std::string, size_t> layer_named;
  for (size_t i = 0; i < layer_of.size(); ++i) layer_named[model.nodes()[i].name] = layer_of[i];

  Graph step = model;  // becomes the training step
  append_loss(step, {.kind = Loss::mean_squared_error});
  fuse(step);
  const size_t forward_nodes = step.nodes().size(), forward_values = step.values().size();
  autodiff(step, find_parameters(step));
  const std::vector<ValueId> memory = find_memory(step);
  for (size_t i = 0; i < step.nodes().size(); ++i) {
    const Node& node = step.nodes()[i];
    const auto layer = layer_named.find(node.name);
    if (layer == layer_named.end()) continue;  // the loss, and sums of gradients
    if (i < forward_nodes) {
      const Cost cost = cost_of(step, node);
      costs.times[layer->second] += cost.operations + (node.op->is_view ? 0 : kOperationsOfByte * cost.bytes);
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
  Cutter(const Costs& costs, size_t stages)
      : costs_(costs), stages_(stages), n_(costs.times.size()), times_(n_ + 1, 0) {
    std::partial_sum(costs.times.begin(), costs.times.end(), times_.begin() + 1);
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

  // Returns the first layers of stages 1, 2 ... Among the partitions whose slowest stage takes at
  // most kSlack times the least time, it takes those whose fullest stage keeps the fewest bytes.
  // Among these it takes the partition that sends the fewest bytes.
  std::vector<size_t> cut() const {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    const double most_time = kSlack * find(Aim::time, kAny, kAny).back()[n_].value;
    const double most_memory = find(Aim::memory, most_time, kAny).back()[n_].value;
    const Table best = find(Aim::sent, most_time, most_memory);
    std::vector<size_t> begins(stages_ - 1);
    for (size_t s = stages_, end = n_; s-- > 1;) begins[s - 1] = end = best[s][end].begin;
    return begins;
  }

 private:
  // The aim: to minimise the largest stage's time or memory, or the bytes that all stages send.
  enum class Aim { time, memory, sent };
  struct Best {
    double value = std::numeric_limits<double>::infinity();
    size_t begin = 0;  // of the last stage
  };
  using Table = std::vector<std::vector<Best>>;  // [s][end]: of s + 1 stages of layers [0, end)

  double time_of(size_t begin, size_t end) const {
    return times_[end] - times_[begin] + kOperationsOfSentByte * costs_.cuts[begin];
  }
  // Under 1F1B stage s of S keeps the values of S - s micro-batches at once.
  double memory_of(size_t stage, size_t begin, size_t end) const {
    return static_cast<double>(stages_ - stage) * kept_[begin][end];
  }

  // Returns the best partitions whose stages take and keep no more than that.
  Table find(Aim aim, double most_time, double most_memory) const {
    Table best(stages_, std::vector<Best>(n_ + 1));
    for (size_t s = 0; s < stages_; ++s)
      for (size_t end = s + 1; end <= n_; ++end)
        for (size_t begin = s; begin < (s == 0 ? 1 : end); ++begin) {
          const double time = time_of(begin, end), memory = memory_of(s, begin, end);
          if (time > most_time || memory > most_memory) continue;
          const double before = s == 0 ? 0 : best[s - 1][begin].value;
          const double value =
              aim == Aim::sent ? before + costs_.cuts[begin] : std::max(before, aim == Aim::time ? time : memory);
          if (value < best[s][end].value) best[s][end] = {value, begin};
        }
    return best;
  }

  const Costs& costs_;
  const size_t stages_, n_;
  std::vector<double> times_;              // of layers [0, i)
  std::vector<std::vector<double>> kept_;  // [begin][end]: bytes that layers [begin, end) keep
};

}  // namespace

std::vector<size_t> cut_by_cost(const Graph& model, const std::vector<size_t>& layer_of, size_t stages) {
  const Costs costs = costs_of(model, layer_of);
  return Cutter(costs, stages).cut();
}

}  // namespace troika
