// mixed_precision: casts around the ops that compute in bf16 or f16 (Micikevicius et al. 2018), and
// the permission to use TF32.
#include <algorithm>
#include <map>

#include "passes/passes.h"

namespace troika {
namespace {

class Caster {
 public:
  explicit Caster(Graph& graph) : graph_(graph), nodes_(std::move(graph.nodes())) { graph_.nodes().clear(); }

  void run(DType low) {
    for (Node& node : nodes_) {
      const auto& [computes_low, f32_inputs] = node.op->low();
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool stays = !computes_low || std::count(f32_inputs.begin(), f32_inputs.end(), static_cast<int>(i)) > 0;
        node.inputs[i] = as(node.inputs[i], stays ? DType::f32 : low, node.name);
      }
      const std::vector<TensorType> types = infer_types(graph_, node);
      for (size_t k = 0; k < types.size(); ++k) graph_.value(node.outputs[k]).type = types[k];
      graph_.add_node(std::move(node));
    }
    for (Output& output : graph_.outputs) output.id = as(output.id, DType::f32, "output");
  }

 private:
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
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
};

}  // namespace

void mixed_precision(Graph& graph, DType low) { Caster(graph).run(low); }

void allow_tf32(Graph& graph) {
  for (Node& node : graph.nodes())
    if (node.op->has_product()) node.attributes.set("tf32", int64_t{1});
}

}  // namespace troika
