// append_optimizer: from gradients to updated parameters, as nodes of the graph.
#include "passes/optimizer.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "ops/update.h"

namespace troika {
namespace {

// The results of conditioning, which updates read; kNoValue: none.
struct Conditioned {
  ValueId scale = kNoValue, is_finite = kNoValue, factor = kNoValue;
};

class OptimizerAppender {
 public:
  OptimizerAppender(Graph& graph, const OptimizerStep& step) : graph_(graph), step_(step) {
    for (ValueId id = 0; id < graph.values().size(); ++id) {
      const Value& value = graph.value(id);
      if (value.role == Role::parameter) parameters_[value.name] = id;
      if (value.role == Role::gradient) gradients_[value.name] = id;
    }
  }

  void run() {
    settings_ = graph_.add_value("settings", {DType::f32, {step_.rows, columns()}}, Role::settings);
    condition();
    if (step_.optimizer->counts_updates) {
      count_ = graph_.add_value(kUpdateCount, {DType::i64, {step_.rows}}, Role::buffer);
      append(count_updates_op, {count_, conditioned_.is_finite}, {});
    }
    add_slots();
    step_.split_norms.empty() ? append_updates() : append_updates_with_split_norms();
    if (step_.average_decay > 0) append_averages();
    if (step_.conditioning.is_scaled) {
      const ValueId scale = append(update_loss_scale_op, {conditioned_.scale, conditioned_.is_finite},
                                   {{"backoff", kLossScaleBackoff},
                                    {"growth", kLossScaleGrowth},
                                    {"interval", step_.conditioning.scale_interval}})[0];
      graph_.outputs.push_back({scale, Report::loss_scale});
    }
  }

 private:
  int64_t columns() const { return static_cast<int64_t>(update::first_own + step_.optimizer->settings.size()); }

  std::vector<ValueId> append(const OpDef& op, std::vector<ValueId> inputs, Attributes attributes) {
    return append_node(graph_, op, std::string(step_.optimizer->name), std::move(inputs), std::move(attributes));
  }

  ValueId find(const std::map<std::string, ValueId>& values, const std::string& name) const {
    const auto found = values.find(name);
    if (found == values.end())
      throw Error(Status::internal,
                  text(step_.optimizer->name, ": no value '", name, "' in graph '", graph_.name(), "'"));
    return found->second;
  }

  // ---- conditioning ----

  void condition() {
    std::vector<ValueId> gradients;
    for (const std::string& name : step_.counted.names) gradients.push_back(find(gradients_, name));
    if (step_.conditioning.is_scaled) {
      const auto found = graph_.find(kLossScale);
      conditioned_.scale = found ? *found : graph_.add_value(kLossScale, {DType::f32, {2}}, Role::buffer);
    }
    if (step_.conditioning.checks_finite()) {
      conditioned_.is_finite = append(check_finite_op, gradients, {})[0];
      if (step_.counted.ranks > 1) conditioned_.is_finite = append(all_finite_op, {conditioned_.is_finite}, {})[0];
      graph_.outputs.push_back({conditioned_.is_finite, Report::is_finite});
    }
    const bool clips = step_.conditioning.max_norm > 0;
    if (!clips && !step_.conditioning.is_scaled) return;
    std::vector<ValueId> inputs = {conditioned_.scale};
    if (clips && step_.counted.ranks > 1) {  // the norm of all gradients is the norm of the ranks' norms
      const ValueId norms = append(gradient_norm_op, gradients,
                                   {{"rank", int64_t{step_.counted.rank}}, {"ranks", int64_t{step_.counted.ranks}}})[0];
      gradients = append(model_sum_op, {norms}, {});
    }
    if (clips) inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    const std::vector<ValueId> outputs =
        append(gradient_factor_op, inputs, {{"eps", kClipEps}, {"max_norm", step_.conditioning.max_norm}});
    conditioned_.factor = outputs[0];
    if (clips) graph_.outputs.push_back({outputs[1], Report::gradient_norm});
  }

  // ---- updates ----

  void add_slots() {
    for (const UpdateGroup& group : step_.groups)
      for (const std::string& name : group.parameters)
        for (const std::string& slot : step_.slots)
          slots_[name].push_back(
              graph_.add_value(slot_name(slot, name), graph_.type(find(parameters_, name)), Role::optimizer_state));
  }

  // Returns the operands of an update, or of norms, which may not read the slots.
  std::vector<ValueId> operands_of(const UpdateGroup& group, ValueId norms, bool with_slots) const {
    std::vector<ValueId> inputs = {settings_, conditioned_.factor, conditioned_.is_finite, count_, norms};
    for (const std::string& name : group.parameters) {
      inputs.push_back(find(parameters_, name));
      inputs.push_back(find(gradients_, name));
      if (!with_slots) continue;
      if (const auto slots = slots_.find(name); slots != slots_.end())
        inputs.insert(inputs.end(), slots->second.begin(), slots->second.end());
    }
    return inputs;
  }
  Attributes attributes_of(const UpdateGroup& group, bool with_slots) const {
    Attributes attributes = {{"row", group.row}, {"slots", static_cast<int64_t>(with_slots ? step_.slots.size() : 0)}};
    if (group.skips_decay) attributes.set("skips_decay", int64_t{1});
    return attributes;
  }

  // Appends the norms of a group's parameters to the norms found before.
  ValueId append_norms(const UpdateGroup& group, ValueId before, const std::vector<int64_t>& places, int64_t total) {
    const OpDef& op = *step_.optimizer->norms;
    const bool with_slots = !op.mutates.empty();
    Attributes attributes = attributes_of(group, with_slots);
    attributes.set("places", places);
    attributes.set("total", total);
    return append(op, operands_of(group, before, with_slots), attributes)[0];
  }

  void append_update(const UpdateGroup& group, ValueId norms, const std::vector<int64_t>& places) {
    Attributes attributes = attributes_of(group, true);
    if (norms != kNoValue) attributes.set("places", places);
    append(step_.optimizer->update, operands_of(group, norms, true), attributes);
  }

  void append_updates() {
    for (const UpdateGroup& group : step_.groups) {
      std::vector<int64_t> places;
      for (size_t k = 0; k < group.parameters.size(); ++k) places.push_back(static_cast<int64_t>(k));
      ValueId norms = kNoValue;
      if (group.has_norms) norms = append_norms(group, kNoValue, places, static_cast<int64_t>(places.size()));
      append_update(group, norms, places);
    }
  }

  // Ranks of a channel group may cut their parameters into different groups, but a sum needs the
  // same numbers on each rank. So one vector has the norms of all parameters, and each rank adds
  // its share. Parameters that the rank holds but does not count are counted by another rank.
  void append_updates_with_split_norms() {
    const std::vector<std::string>& names = step_.split_norms;
    const std::vector<std::string>& counted = step_.counted.names;
    const auto total = static_cast<int64_t>(names.size());
    auto places_of = [&](const UpdateGroup& group) {
      std::vector<int64_t> places;
      for (const std::string& name : group.parameters)
        places.push_back(std::find(names.begin(), names.end(), name) - names.begin());
      return places;
    };
    ValueId norms = kNoValue;
    // Numbers of a parameter that another rank counts go to places at the end, which nothing reads.
    auto counted_places_of = [&](const UpdateGroup& group) {
      std::vector<int64_t> places = places_of(group);
      for (size_t k = 0; k < places.size(); ++k)
        if (std::find(counted.begin(), counted.end(), group.parameters[k]) == counted.end()) places[k] = total;
      return places;
    };
    for (const UpdateGroup& group : step_.groups)
      if (group.has_norms) norms = append_norms(group, norms, counted_places_of(group), total + 1);
    if (norms == kNoValue)
      norms = append(fill_op, {}, {{"shape", std::vector<int64_t>{2 * (total + 1)}}, {"value", 0.0}})[0];
    norms = append(channel_sum_op, {norms}, {})[0];
    for (const UpdateGroup& group : step_.groups)
      append_update(group, group.has_norms ? norms : kNoValue, places_of(group));
  }

  void append_averages() {
    std::vector<ValueId> inputs = {conditioned_.is_finite};
    for (const UpdateGroup& group : step_.groups)
      for (const std::string& name : group.parameters) {
        const ValueId parameter = find(parameters_, name);
        inputs.push_back(
            graph_.add_value(slot_name(kAverageSlot, name), graph_.type(parameter), Role::optimizer_state));
        inputs.push_back(parameter);
      }
    if (inputs.size() > 1) append(average_update_op, inputs, {{"decay", step_.average_decay}});
  }

  Graph& graph_;
  const OptimizerStep& step_;
  std::map<std::string, ValueId> parameters_, gradients_;  // by name
  std::map<std::string, std::vector<ValueId>> slots_;      // by parameter
  ValueId settings_ = kNoValue, count_ = kNoValue;
  Conditioned conditioned_;
};

}  // namespace

std::string slot_name(const std::string& slot, const std::string& parameter) { return text(slot, '/', parameter); }

std::string parameter_of_slot(const std::string& slot_name) { return slot_name.substr(slot_name.find('/') + 1); }

void append_optimizer(Graph& graph, const OptimizerStep& step) { OptimizerAppender(graph, step).run(); }

}  // namespace troika
