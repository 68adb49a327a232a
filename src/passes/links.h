// The makers and readers of a graph's values, as they are when the links are made.
#pragma once

#include <vector>

#include "ops/op_def.h"

namespace troika {

class Links {
 public:
  // Nodes may change meanwhile, but may not move.
  explicit Links(Graph& graph);

  Node* maker(ValueId id) const { return makers_[id]; }  // null: a value that exists before the step
  const std::vector<Node*>& readers(ValueId id) const { return readers_[id]; }  // a node once per operand
  // Whether nodes alone read the value: it is no output of the graph.
  bool is_inner(ValueId id) const { return uses_[id] == static_cast<int>(readers_[id].size()); }
  // Returns the node that alone reads a value, if it is of this op; else null.
  Node* only_reader(ValueId id, const OpDef& op) const {
    return is_inner(id) && readers_[id].size() == 1 && readers_[id][0]->op == &op ? readers_[id][0] : nullptr;
  }

 private:
  std::vector<int> uses_;
  std::vector<Node*> makers_;
  std::vector<std::vector<Node*>> readers_;
};

}  // namespace troika
