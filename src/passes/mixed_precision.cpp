// mixed_precision: casts around the ops that compute in bf16 or f16 (Micikevicius et al. 2018); and the leave to use TF32.
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
      const OpDef& op = op_def(node.op);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool stays = !op.computes_low || std::count(op.f32_inputs.begin(), op.f32_inputs.end(), static_cast<int>(i));
        node.inputs[i] = as(node.inputs[i], stays ? DType::f32 : low, node.name);
      }
      const std::vector<TensorType> types = infer_types(graph_, node);
      for (size_t k = 0; k < types.size(); ++k) graph_.value(node.outputs[k]).type = types[k];
      graph_.add_node(std::move(node));
    }
    for (ValueId& id : graph_.outputs) id = as(id, DType::f32, "output");
  }

 private:
  // The value in that type: itself, or a cast that all its readers share. Labels, counters and sums are not touched.
  ValueId as(ValueId id, DType dtype, const std::string& reader) {
    if (id == kNoValue || !is_compute_dtype(graph_.type(id).dtype) || graph_.type(id).dtype == dtype) return id;
    const auto [found, is_new] = casts_.try_emplace({id, dtype}, kNoValue);
    if (is_new) {
      const std::string& name = graph_.value(id).name;
      found->second =
          append_node(graph_, "cast", name.empty() ? reader : name, {id}, {{"dtype", static_cast<int64_t>(dtype)}})[0];
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
  static constexpr const char* kWithProducts[] = {"conv2d", "linear", "lstm", "gru"};  // and their gradients
  for (Node& node : graph.nodes())
    if (std::ranges::any_of(kWithProducts, [&](const char* op) { return node.op.starts_with(op); }))
      node.attributes.set("tf32", int64_t{1});
}

}  // namespace troika
