// mixed_precision: casts around the ops that compute in bf16 or f16 (Micikevicius et al. 2018), and
// the permission to use TF32.
#include "passes/precision.h"

#include <algorithm>
#include <map>

#include "ops/op_def.h"

namespace troika {
namespace {

class Caster {
 public:
  explicit Caster(Graph& graph)
      : graph_(graph),
        nodes_(std::move(graph.nodes())),
        is_read_low_(graph.values().size()),
        is_exact_(graph.values().size()) {
    graph_.nodes().clear();
    for (size_t n = nodes_.size(); n-- > 0;) mark_exact(nodes_[n]);  // readers first
    for (const Node& node : nodes_)
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] != kNoValue && reads_low(node, i)) is_read_low_[node.inputs[i]] = true;
  }

  void run(DType low) {
    for (Node& node : nodes_) {
      // Sums that only f32 ops read, such as logits, would be rounded only to be widened again.
      if (node.op->low().keeps_sums && !is_read_low_[node.outputs[0]]) node.attributes.set("f32_output", int64_t{1});
      for (size_t i = 0; i < node.inputs.size(); ++i)
        node.inputs[i] = as(node.inputs[i], reads_low(node, i) ? low : DType::f32, node.name);
      const std::vector<TensorType> types = infer_types(graph_, node);
      for (size_t k = 0; k < types.size(); ++k) graph_.value(node.outputs[k]).type = types[k];
      graph_.add_node(std::move(node));
    }
    for (Output& output : graph_.outputs) output.id = as(output.id, DType::f32, "output");
  }

 private:
  // Inputs of a node whose output must not be rounded must not be rounded either.
  void mark_exact(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue && (makes_exact(node) || contains(node.op->low().exact_inputs, i)))
        is_exact_[node.inputs[i]] = true;
  }

  bool makes_exact(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [this](ValueId id) { return is_exact_[id]; });
  }

  bool reads_low(const Node& node, size_t i) const {
    const LowPrecision& op = node.op->low();
    return op.computes_low && !makes_exact(node) && !contains(op.f32_inputs, i);
  }

  static bool contains(const std::vector<int>& inputs, size_t i) {
    return std::find(inputs.begin(), inputs.end(), static_cast<int>(i)) != inputs.end();
  }

  // Returns the value in that type: itself, or a cast that all its readers share. Labels, counters
  // and sums stay as they are.
  ValueId as(ValueId id, DType dtype, const std::string& reader) {
    if (id == kNoValue || !is_compute_dtype(graph_.type(id).dtype) || graph_.type(id).dtype == dtype) return id;
    const auto [found, is_new] = casts_.try_emplace({id, dtype}, kNoValue);
    if (is_new) {
      const std::string& name = graph_.value(id).name;
      found->second =
          append_node(graph_, cast_op, name.empty() ? reader : name, {id}, {{"dtype", static_cast<int64_t>(dtype)}})[0];
    }
    return found->second;
  }

  Graph& graph_;
  std::vector<Node> nodes_;
  std::vector<bool> is_read_low_, is_exact_;  // by value
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
};

}  // namespace

void mixed_precision(Graph& graph, DType low) { Caster(graph).run(low); }

void allow_tf32(Graph& graph) {
  for (Node& node : graph.nodes())
    if (node.op->has_product()) node.attributes.set("tf32", int64_t{1});
}

}  // namespace troika
