// delay_updates: finds the nodes after the sums, and their new places.
#include "parallel/late_updates.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

bool is_sum(const Node& node) { return node.op == &all_reduce_op; }

class Delay {
 public:
  Delay(Graph& graph, const std::vector<size_t>& order) : graph_(graph), order_(order) {}

  void run() {
    find_late_nodes();
    find_places();
    place_sums();
    assemble();
  }

 private:
  bool makes_gradient(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return graph_.value(id).role == Role::gradient; });
  }

  // Returns what a node makes, and the state that it may change.
  std::vector<ValueId> changed_by(const Node& node) const {
    std::vector<ValueId> changed = node.outputs;
    for (ValueId id : node.inputs)
      if (id != kNoValue && !node.op->mutates.empty() && is_state(graph_.value(id).role)) changed.push_back(id);
    return changed;
  }

  // Late are the nodes that read a sum, and those that read or change what a late node has changed.
  void find_late_nodes() {
    std::vector<char> depends_on_sum(graph_.values().size(), 0);
    for (const Node& node : graph_.nodes()) {
      const bool is_late = !is_sum(node) && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
        return id != kNoValue && depends_on_sum[id];
      });
      is_late_.push_back(is_late);
      if (is_late || is_sum(node))
        for (ValueId id : changed_by(node)) depends_on_sum[id] = 1;
    }
    for (const Output& output : graph_.outputs)
      if (depends_on_sum[output.id])
        throw Error(Status::internal, text("graph '", graph_.name(), "': a result depends on sums of gradients"));
  }

  // A late node runs before the first other node that touches what it changes, before the first
  // gradient is made, and before the late nodes that depend on it.
  void find_places() {
    const std::vector<Node>& nodes = graph_.nodes();
    size_t backward = 0;  // the first node that makes a gradient
    while (backward < nodes.size() && !makes_gradient(nodes[backward]) && !is_sum(nodes[backward])) ++backward;
    std::vector<size_t> first(graph_.values().size(), backward);  // by value: the first place at which it is in use
    for (size_t i = backward; i-- > 0;) {
      if (is_late_[i]) continue;
      for (const std::vector<ValueId>* ids : {&nodes[i].inputs, &nodes[i].outputs})
        for (ValueId id : *ids)
          if (id != kNoValue) first[id] = i;
    }
    places_.assign(nodes.size(), 0);
    for (size_t i = nodes.size(); i-- > 0;) {
      if (!is_late_[i]) continue;
      places_[i] = backward;
      for (ValueId id : changed_by(nodes[i])) places_[i] = std::min(places_[i], first[id]);
      for (ValueId id : nodes[i].inputs)
        if (id != kNoValue) first[id] = std::min(first[id], places_[i]);
    }
  }

  // Returns the bucket's place in the order.
  size_t turn_of(const Node& sum) const {
    const auto bucket = static_cast<size_t>(sum.attributes.integer("bucket"));
    const auto found = std::find(order_.begin(), order_.end(), bucket);
    if (found == order_.end()) throw Error(Status::internal, text("bucket ", bucket, " has no place in the order of sums"));
    return static_cast<size_t>(found - order_.begin());
  }

  // A sum starts once its gradients and all sums before it are there: after that many nodes.
  void place_sums() {
    sums_.resize(order_.size());
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (!is_sum(node)) continue;
      sums_[turn_of(node)] = {i, node};
      sums_[turn_of(node)].second.attributes.set("late", int64_t{1});
    }
    for (size_t turn = 1; turn < sums_.size(); ++turn)
      sums_[turn].first = std::max(sums_[turn].first, sums_[turn - 1].first);
  }

  void assemble() {
    std::vector<Node> late, nodes;
    std::vector<size_t> places;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!is_late_[i]) continue;
      late.push_back(graph_.nodes()[i]);
      late.back().attributes.set("late", int64_t{1});
      places.push_back(places_[i]);
    }
    size_t next_sum = 0;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      for (size_t k = 0; k < late.size(); ++k)
        if (places[k] == i) nodes.push_back(late[k]);
      if (!is_late_[i] && !is_sum(graph_.nodes()[i])) nodes.push_back(std::move(graph_.nodes()[i]));
      for (; next_sum < sums_.size() && sums_[next_sum].first <= i; ++next_sum)
        nodes.push_back(sums_[next_sum].second);
    }
    graph_.nodes() = std::move(nodes);
  }

  Graph& graph_;
  const std::vector<size_t>& order_;
  std::vector<char> is_late_;                  // by node
  std::vector<size_t> places_;                 // of late nodes: before this node
  std::vector<std::pair<size_t, Node>> sums_;  // in their order: after this node
};

}  // namespace

void delay_updates(Graph& graph, const std::vector<size_t>& order) { Delay(graph, order).run(); }

}  // namespace troika
