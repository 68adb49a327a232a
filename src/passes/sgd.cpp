// append_sgd: the optimizer's update as nodes of the graph.
#include "core/error.h"
#include "core/text.h"
#include "passes/passes.h"

namespace troika {

void append_sgd(Graph& graph, const SgdSettings& settings, const std::vector<UpdateGroup>& groups, int64_t rates,
                const GradientShare& share) {
  const ValueId learning_rates = graph.add_value("learning_rates", {DType::f32, {rates}}, Role::settings);
  // Parameter and gradient have one name; by role.
  auto find = [&](const std::string& name, Role role) {
    for (ValueId id = 0; id < graph.values().size(); ++id)
      if (graph.value(id).role == role && graph.value(id).name == name) return id;
    throw Error(Status::internal, text("sgd: no value '", name, "' in graph '", graph.name(), "'"));
  };
  const bool is_clipped = settings.max_gradient_norm > 0;
  ValueId scale = kNoValue, is_finite = kNoValue, clip_factor = kNoValue;
  std::vector<ValueId> gradients;
  if (share.counted) {
    for (const std::string& name : *share.counted) gradients.push_back(find(name, Role::gradient));
  } else {
    for (const UpdateGroup& group : groups)
      for (const std::string& name : group.parameters) gradients.push_back(find(name, Role::gradient));
  }
  if (settings.is_scaled) {
    const auto found = graph.find(kLossScale);
    scale = found ? *found : graph.add_value(kLossScale, {DType::f32, {2}}, Role::buffer);
    is_finite = append_node(graph, check_finite_op, "sgd", gradients)[0];
    if (share.ranks > 1) is_finite = append_node(graph, all_finite_op, "sgd", {is_finite})[0];
    graph.outputs.push_back({is_finite, Report::is_finite});
  }
  if (is_clipped) {
    Attributes attributes = {{"eps", kClipEps}, {"max_norm", settings.max_gradient_norm}};
    if (share.ranks > 1) {  // the norm of all is that of the ranks' norms
      const ValueId norms = append_node(graph, gradient_norm_op, "sgd", gradients,
                                        {{"rank", int64_t{share.rank}}, {"ranks", int64_t{share.ranks}}})[0];
      gradients = append_node(graph, model_sum_op, "sgd", {norms});
    }
    if (settings.is_scaled) {
      gradients.push_back(scale);
      attributes.set("scaled", int64_t{1});
    }
    const std::vector<ValueId> outputs = append_node(graph, clip_factor_op, "sgd", gradients, attributes);
    clip_factor = outputs[0];
    graph.outputs.push_back({outputs[1], Report::gradient_norm});
  }
  for (const UpdateGroup& group : groups) {
    std::vector<ValueId> inputs = {learning_rates};
    for (const std::string& name : group.parameters) {
      inputs.push_back(find(name, Role::parameter));
      inputs.push_back(find(name, Role::gradient));
      if (settings.momentum > 0)
        inputs.push_back(graph.add_value(name, graph.type(inputs[inputs.size() - 2]), Role::optimizer_state));
    }
    if (settings.is_scaled) inputs.insert(inputs.end(), {scale, is_finite});
    if (is_clipped) inputs.push_back(clip_factor);
    Attributes attributes = {{"group", group.rate_index},
                             {"momentum", settings.momentum},
                             {"nesterov", int64_t{settings.nesterov}},
                             {"weight_decay", group.weight_decay}};
    if (settings.is_scaled) attributes.set("scaled", int64_t{1});
    if (is_clipped) attributes.set("clipped", int64_t{1});
    append_node(graph, sgd_update_op, "sgd", inputs, attributes);
  }
  if (settings.is_scaled)
    append_node(graph, update_loss_scale_op, "sgd", {scale, is_finite},
                {{"backoff", kLossScaleBackoff}, {"growth", kLossScaleGrowth}, {"interval", settings.scale_interval}});
}

}  // namespace troika
