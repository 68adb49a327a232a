// Costs of layers as they are trained, and the best partition of them.
#include "parallel/layer_cuts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>

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
  std::vector<double> cuts;
};

// Bytes of values that cross a cut in front of each layer, and behind the last.
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

// The parameters that reach the loss; the others must be frozen.
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

  Graph step = model;  // as it is trained
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

  // Where stages 1, 2 ... begin: of the partitions whose costliest stage takes at most kSlack times as long as it must, those
  // whose fullest stage has least to keep; of these the one that sends least.
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
  // What is to be least: of the largest stage, or what all send.
  enum class Aim { time, memory, sent };
  struct Best {
    double value = std::numeric_limits<double>::infinity();
    size_t begin = 0;  // of the last stage
  };
  using Table = std::vector<std::vector<Best>>;  // [s][end]: of s + 1 stages of layers [0, end)

  double time_of(size_t begin, size_t end) const {
    return times_[end] - times_[begin] + kOperationsOfSentByte * costs_.cuts[begin];
  }
  // Stage s of S keeps what is read again of S - s micro-batches at once, in one forward, one backward.
  double memory_of(size_t stage, size_t begin, size_t end) const {
    return static_cast<double>(stages_ - stage) * kept_[begin][end];
  }

  // The best partitions whose stages take and keep no more than that.
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
