// recompute: copies of forward nodes before the backward nodes that read dropped values.
#include "passes/recompute.h"

#include <set>

namespace troika {
namespace {

class Repeater {
 public:
  Repeater(Graph& graph, const Dropped& dropped)
      : graph_(graph),
        dropped_(dropped),
        nodes_(std::move(graph.nodes())),
        maker_(graph.values().size(), 0),
        again_(graph.values().size(), kNoValue) {
    graph_.nodes().clear();
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (ValueId id : nodes_[i].outputs) maker_[id] = i;
  }

  void run() {
    const size_t loss = maker_[graph_.outputs.at(0)];
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node node = nodes_[i];
      if (i > loss) {
        make_again(node.inputs);
        for (ValueId& id : node.inputs) id = newest(id);
      }
      graph_.add_node(std::move(node));
    }
  }

 private:
  bool is_dropped(ValueId id) const { return id != kNoValue && id < dropped_.size() && dropped_[id]; }
  ValueId newest(ValueId id) const { return is_dropped(id) ? again_[id] : id; }

  // Copies, in forward order, every node that these values need and that has no copy yet.
  void make_again(std::vector<ValueId> wanted) {
    std::set<size_t> needed;
    while (!wanted.empty()) {
      const ValueId id = wanted.back();
      wanted.pop_back();
      if (!is_dropped(id) || again_[id] != kNoValue || !needed.insert(maker_[id]).second) continue;
      const std::vector<ValueId>& inputs = nodes_[maker_[id]].inputs;
      wanted.insert(wanted.end(), inputs.begin(), inputs.end());
    }
    for (size_t i : needed) copy(nodes_[i]);
  }

  void copy(const Node& node) {
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& id : inputs) id = newest(id);
    // Only the original node changes state.
    for (int k : node.op->mutates) inputs[static_cast<size_t>(k)] = kNoValue;
    const std::vector<ValueId> outputs = append_node(graph_, *node.op, node.name, std::move(inputs), node.attributes);
    for (size_t k = 0; k < outputs.size(); ++k) again_[node.outputs[k]] = outputs[k];
  }

  Graph& graph_;
  const Dropped& dropped_;
  const std::vector<Node> nodes_;
  std::vector<size_t> maker_;   // the node of each value
  std::vector<ValueId> again_;  // by value: the value that the copy makes
};

}  // namespace

void recompute(Graph& graph, const Dropped& dropped) { Repeater(graph, dropped).run(); }

}  // namespace troika
