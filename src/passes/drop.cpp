// Chooses the values that recompute drops: by segment, by layer, or all that are cheap to compute
// again.
#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/text.h"
#include "passes/recompute.h"

namespace troika {

std::vector<ValueId> find_memory(const Graph& graph) {
  std::vector<ValueId> memory(graph.values().size());
  std::iota(memory.begin(), memory.end(), ValueId{0});
  for (const Node& node : graph.nodes())
    if (node.op->is_view) memory[node.outputs[0]] = memory[node.inputs[0]];
  return memory;
}

namespace {

// The forward pass of a graph after autodiff. Values here have memory of their own; views go with
// the values that they show.
class ForwardPass {
 public:
  explicit ForwardPass(const Graph& graph)
      : graph_(graph),
        memory_(find_memory(graph)),
        maker_(graph.values().size(), SIZE_MAX),
        last_reader_(graph.values().size(), 0),
        is_read_by_backward_(graph.values().size(), false) {
    const std::vector<Node>& nodes = graph.nodes();
    while (std::count(nodes[loss_].outputs.begin(), nodes[loss_].outputs.end(), graph.outputs.at(0)) == 0) ++loss_;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i < loss_ && !nodes[i].op->is_view)
        for (ValueId id : droppable(nodes[i])) maker_[id] = last_reader_[id] = i;
      for (ValueId id : nodes[i].inputs) {
        if (id == kNoValue) continue;
        if (i <= loss_)
          last_reader_[memory_[id]] = i;
        else
          is_read_by_backward_[memory_[id]] = true;
      }
    }
  }

  size_t loss() const { return loss_; }  // the index of its node: everything before it can be computed again
  ValueId memory(ValueId id) const { return memory_[id]; }
  bool can_be_dropped(ValueId id) const { return maker_[id] != SIZE_MAX; }
  size_t maker(ValueId id) const { return maker_[id]; }
  size_t last_reader(ValueId id) const {
    return last_reader_[id];
  }  // in the forward pass; the maker if there is no reader
  bool is_read_by_backward(ValueId id) const { return is_read_by_backward_[id]; }

  // Extends a choice among values that can be dropped to their views.
  Dropped with_views(Dropped dropped) const {
    for (ValueId id = 0; id < memory_.size(); ++id) dropped[id] = can_be_dropped(memory_[id]) && dropped[memory_[id]];
    return dropped;
  }

  // Returns the outputs of a forward node, except those that are always kept. These are the mean
  // and deviation of batch_norm2d, and the state of lstm with which the next steps begin.
  std::vector<ValueId> droppable(const Node& node) const {
    const OpDef& op = *node.op;
    if (!op.mutates.empty() && !op.repeats_without_state) return {};
    std::vector<ValueId> ids;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (std::count(op.kept_outputs.begin(), op.kept_outputs.end(), static_cast<int>(i)) == 0)
        ids.push_back(node.outputs[i]);
    return ids;
  }

 private:
  const Graph& graph_;
  std::vector<ValueId> memory_;
  size_t loss_ = 0;
  std::vector<size_t> maker_, last_reader_;
  std::vector<bool> is_read_by_backward_;
};

}  // namespace

Dropped drop_segments(const Graph& graph, int64_t segments) {
  const ForwardPass pass(graph);
  // For a cut before node p: bytes made before it that the backward pass reads, and bytes that are
  // read after it.
  std::vector<double> before(pass.loss() + 2), across(pass.loss() + 2);
  for (ValueId id = 0; id < graph.values().size(); ++id) {
    if (!pass.can_be_dropped(id)) continue;
    const auto bytes = static_cast<double>(graph.type(id).bytes());
    if (pass.is_read_by_backward(id)) before[pass.maker(id) + 1] += bytes;
    across[pass.maker(id) + 1] += bytes;
    across[pass.last_reader(id) + 1] -= bytes;
  }
  std::partial_sum(before.begin(), before.end(), before.begin());
  std::partial_sum(across.begin(), across.end(), across.begin());

  std::vector<size_t> cuts;
  for (int64_t k = 1; k < segments; ++k) {
    // Values that cross are kept, and so are values that would make a segment larger than its
    // share.
    const double share = before[pass.loss()] * static_cast<double>(k) / static_cast<double>(segments);
    const auto price = [&](size_t p) { return across[p] + std::abs(before[p] - share); };
    const size_t first = cuts.empty() ? 1 : cuts.back() + 1;
    if (first > pass.loss()) break;
    size_t best = first;
    for (size_t p = first; p <= pass.loss(); ++p)
      if (price(p) < price(best)) best = p;
    cuts.push_back(best);
  }

  const auto segment_of = [&](size_t node) { return std::upper_bound(cuts.begin(), cuts.end(), node) - cuts.begin(); };
  const auto last_segment = segment_of(pass.loss());
  Dropped dropped(graph.values().size());
  for (ValueId id = 0; id < dropped.size(); ++id) {
    if (!pass.can_be_dropped(id)) continue;
    const auto segment = segment_of(pass.maker(id));
    dropped[id] = segment != last_segment && segment == segment_of(pass.last_reader(id));
  }
  return pass.with_views(dropped);
}

Dropped drop_layers(const Graph& graph, const std::vector<std::string>& patterns) {
  const ForwardPass pass(graph);
  Dropped dropped(graph.values().size());
  for (const std::string& pattern : patterns) {
    bool matches = false;
    for (size_t i = 0; i < pass.loss(); ++i) {
      const Node& node = graph.nodes()[i];
      const bool is_layer = matches_pattern(pattern, node.name);
      matches = matches || is_layer;
      for (ValueId id : pass.droppable(node)) {
        // A pooling's output that a convolution makes has the pooling's name (fuse_pools.cpp).
        const std::string& name = graph.value(id).name;
        if (!is_layer && (name.empty() || !matches_pattern(pattern, name))) continue;
        matches = dropped[id] = true;
      }
    }
    if (!matches)
      throw Error(Status::not_found,
                  text("recompute_layers '", pattern, "': no layer of model '", graph.name(),
                       "' matches it; one that is merged into the layer before it goes by that name"));
  }
  return pass.with_views(dropped);
}

Dropped drop_cheap(const Graph& graph) {
  const ForwardPass pass(graph);
  Dropped dropped(graph.values().size());
  for (size_t i = 0; i < pass.loss(); ++i) {
    const Node& node = graph.nodes()[i];
    const OpDef& op = *node.op;
    if (op.cost || op.is_view) continue;  // without a cost function, an op takes one operation per element
    // Ops that read two activations, such as a residual, would chain all such layers together.
    int activations = 0;
    bool are_there = true;
    for (ValueId id : node.inputs) {
      if (id == kNoValue || is_state(graph.value(id).role)) continue;
      activations += graph.value(id).role == Role::activation;
      are_there = are_there && (dropped[pass.memory(id)] || pass.is_read_by_backward(pass.memory(id)));
    }
    if (are_there && activations <= 1)
      for (ValueId id : pass.droppable(node)) dropped[id] = true;
  }
  return pass.with_views(dropped);
}

}  // namespace troika
