// Building graphs, and checking that they are well formed.
#include "graph/graph.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

std::ostream& operator<<(std::ostream& out, const OpDef* op) { return out << (op ? name_of(*op) : "no op"); }

std::string print_type(const TensorType& type) { return text(name_of(type.dtype), type.shape); }

ValueId Graph::add_value(std::string name, TensorType type, Role role) {
  values_.push_back({std::move(name), std::move(type), role});
  return static_cast<ValueId>(values_.size() - 1);
}

Node& Graph::add_node(Node node) {
  nodes_.push_back(std::move(node));
  return nodes_.back();
}

void Graph::truncate(size_t values, size_t nodes) {
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(values), values_.end());
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(nodes), nodes_.end());
}

std::optional<ValueId> Graph::find(const std::string& name) const {
  for (ValueId id = 0; id < values_.size(); ++id)
    if (values_[id].role != Role::activation && values_[id].name == name) return id;
  return std::nullopt;
}

void verify_structure(const Graph& graph) {
  const size_t n = graph.values().size();
  auto fail = [&](const Node& node, const std::string& what) {
    throw Error(Status::internal, text("graph '", graph.name(), "': ", node.op, " '", node.name, "': ", what));
  };
  // Inputs and state exist from the start. A gradient, or a copy, exists from the node that makes
  // it, if there is one. A late node reads the gradient of the step before.
  std::vector<bool> exists(n), is_made(n);
  for (size_t id = 0; id < n; ++id) exists[id] = graph.values()[id].role != Role::activation;
  for (const Node& node : graph.nodes())
    for (ValueId id : node.outputs)
      if (id < n && (graph.values()[id].role == Role::gradient || graph.values()[id].role == Role::copy))
        exists[id] = false;
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (id >= n) fail(node, text("input %", id, " is out of range"));
      const bool is_earlier = graph.values()[id].role == Role::gradient && node.attributes.flag("late");
      if (!exists[id] && !is_earlier) fail(node, text("reads %", id, " before it is made"));
    }
    for (ValueId id : node.outputs) {
      if (id >= n) fail(node, text("output %", id, " is out of range"));
      if (is_made[id]) fail(node, text("makes %", id, " a second time"));
      if (exists[id]) fail(node, text("makes %", id, ", which exists before the step"));
      is_made[id] = exists[id] = true;
    }
  }
  for (ValueId id : graph.outputs)
    if (id >= n || !exists[id])
      throw Error(Status::internal, text("graph '", graph.name(), "': output %", id, " is never made"));
}

}  // namespace troika
