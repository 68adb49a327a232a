// Copies nodes in the order of actions, with messages between positions and sums of gradients.
#include "parallel/unroll.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/text.h"
#include "ops/op_def.h"
#include "parallel/rank_map.h"

namespace troika {
namespace {

class Unrolling {
 public:
  Unrolling(const std::vector<StepPart>& parts, int position, int positions)
      : parts_(parts), position_(position), positions_(positions), joined_(parts[0].graph.name()) {
    for (const StepPart& part : parts) {
      const size_t values = part.graph.values().size();
      new_ids_.emplace_back(values, kNoValue);
      is_constant_.emplace_back(values, false);
      for (ValueId id = 0; id < values; ++id) is_constant_.back()[id] = part.graph.value(id).role == Role::parameter;
    }
    number_messages();
  }

  Graph run(const std::vector<PipelineAction>& actions) {
    for (const PipelineAction& action : actions) {
      const auto place = static_cast<size_t>(action.micro_batch);
      const StepPart& part = parts_[place];
      const bool is_forward = action.phase == PipelineAction::forward;
      const size_t end = is_forward ? part.forward_nodes : part.graph.nodes().size();
      for (size_t i = is_forward ? 0 : part.forward_nodes; i < end; ++i)
        if (stage_of(part, i) == action.stage) append(place, part.graph.nodes()[i]);
    }
    add_trained_parameters();
    for (size_t place = 0; place < parts_.size(); ++place)
      for (const auto& [id, report] : parts_[place].graph.outputs)
        if (new_ids_[place][id] != kNoValue && makers_[place][id] == position_)
          joined_.outputs.push_back({new_ids_[place][id], report});
    return std::move(joined_);
  }

 private:
  static constexpr int kNobody = -1;

  static int stage_of(const StepPart& part, size_t node) { return part.stages.empty() ? 0 : part.stages[node]; }

  // Forward values go to later stages, gradients to earlier stages. In the opposite direction ranks
  // would wait for each other.
  static void require_order(const StepPart& part, size_t maker, size_t reader) {
    const int from = stage_of(part, maker), to = stage_of(part, reader);
    const bool is_forward = reader < part.forward_nodes, is_late = is_forward ? from > to : from < to;
    if (!is_late || (!is_forward && maker < part.forward_nodes)) return;
    const auto& nodes = part.graph.nodes();
    throw Error(Status::internal,
                text("layers: ", nodes[reader].op, " '", nodes[reader].name, "' of stage ", to, " reads what ",
                     nodes[maker].op, " '", nodes[maker].name, "' of stage ", from, " makes too late"));
  }

  // Every value that another position reads is one message per such position, in the order of
  // parts, nodes and positions.
  void number_messages() {
    int64_t next = 0;
    for (const StepPart& part : parts_) {
      std::vector<int>& makers = makers_.emplace_back(part.graph.values().size(), kNobody);
      std::vector<std::vector<bool>> readers(part.graph.values().size());
      std::vector<size_t> made_by(part.graph.values().size(), 0);
      const auto& nodes = part.graph.nodes();
      for (size_t i = 0; i < nodes.size(); ++i) {
        const int at = position_of_stage(stage_of(part, i), positions_);
        for (ValueId id : nodes[i].outputs) makers[id] = at, made_by[id] = i;
        for (ValueId id : nodes[i].inputs) {
          if (id == kNoValue || makers[id] == kNobody) continue;
          require_order(part, made_by[id], i);
          if (makers[id] == at) continue;
          readers[id].resize(static_cast<size_t>(positions_));
          readers[id][static_cast<size_t>(at)] = true;
        }
      }
      auto& messages = messages_.emplace_back();
      for (const Node& node : nodes)
        for (ValueId id : node.outputs)
          for (size_t reader = 0; reader < readers[id].size(); ++reader)
            if (readers[id][reader]) messages[{id, static_cast<int>(reader)}] = next++;
    }
  }

  void append(size_t place, const Node& node) {
    const Graph& graph = parts_[place].graph;
    std::vector<ValueId>& new_ids = new_ids_[place];
    bool is_constant = !node.inputs.empty() && node.op->mutates.empty();
    for (ValueId id : node.inputs) is_constant = is_constant && id != kNoValue && is_constant_[place][id];
    Node copy{node.op, node.name, {}, {}, node.attributes};
    for (ValueId id : node.inputs) copy.inputs.push_back(id == kNoValue ? kNoValue : read(place, id, node.name));
    if (is_constant) {
      for (ValueId id : node.outputs) is_constant_[place][id] = true;
      const auto earlier = std::find_if(constants_.begin(), constants_.end(), [&](const Node& n) {
        return n.op == copy.op && n.inputs == copy.inputs && n.attributes == copy.attributes;
      });
      if (earlier != constants_.end()) {
        for (size_t i = 0; i < node.outputs.size(); ++i) new_ids[node.outputs[i]] = earlier->outputs[i];
        return;
      }
    }
    for (ValueId id : node.outputs) copy.outputs.push_back(new_ids[id] = add_value(graph.value(id), place));
    if (is_constant) constants_.push_back(copy);
    joined_.add_node(std::move(copy));
    for (ValueId id : node.outputs) {
      if (graph.value(id).role == Role::gradient) add_gradient(graph.value(id).name, node.name, new_ids[id], place);
      send(place, id, node.name);
    }
  }

  void send(size_t place, ValueId id, const std::string& layer) {
    const auto& messages = messages_[place];
    for (auto m = messages.lower_bound({id, 0}); m != messages.end() && m->first.first == id; ++m)
      append_node(joined_, send_op, layer, {new_ids_[place][id]},
                  {{"message", m->second}, {"peer", int64_t{m->first.second}}});
  }

  // Returns the value as this rank has it: state, an input, a value of its own, or a received
  // value.
  ValueId read(size_t place, ValueId id, const std::string& layer) {
    ValueId& mine = new_ids_[place][id];
    if (mine != kNoValue) return mine;
    const Value& value = parts_[place].graph.value(id);
    const auto message = messages_[place].find({id, position_});
    if (message == messages_[place].end()) return mine = add_value(value, place);
    mine = append_node(joined_, receive_op, layer, {},
                       {{"dtype", static_cast<int64_t>(value.type.dtype)},
                        {"message", message->second},
                        {"peer", int64_t{makers_[place][id]}},
                        {"shape", value.type.shape.dims()}})[0];
    return mine;
  }

  ValueId add_value(Value value, size_t place) {
    if (value.role == Role::gradient && parts_.size() > 1) value.role = Role::activation;
    if (is_of_samples(value.role) && parts_.size() > 1) value.name += text("/", place);
    if (value.role == Role::activation) return joined_.add_value(value.name, value.type);
    const auto [found, is_new] = shared_.try_emplace({value.role, value.name}, kNoValue);
    if (is_new) found->second = joined_.add_value(value.name, value.type, value.role);
    return found->second;
  }

  // A part without samples reads no parameters.
  void add_trained_parameters() {
    for (ValueId id = 0, end = static_cast<ValueId>(joined_.values().size()); id < end; ++id) {
      if (joined_.value(id).role != Role::gradient) continue;
      const std::string name = joined_.value(id).name;
      for (const Value& value : parts_[0].graph.values())
        if (value.role == Role::parameter && value.name == name) add_value(value, 0);
    }
  }

  void add_gradient(const std::string& parameter, const std::string& layer, ValueId gradient, size_t place) {
    if (parts_.size() == 1) return;
    std::vector<ValueId>& sums = sums_[parameter];  // by the part at which each sum begins
    if (sums.size() != place)
      throw Error(Status::internal,
                  text("unroll: gradient of '", parameter, "' of part ", place, " comes at place ", sums.size()));
    sums.push_back(gradient);
    for (size_t half = 1; half < parts_.size(); half *= 2) {
      const size_t left = place / (2 * half) * (2 * half), right = left + half;
      const bool is_whole = place + 1 == std::min(left + 2 * half, parts_.size());
      if (is_whole && right <= place) sums[left] = append_node(joined_, add_op, layer, {sums[left], sums[right]})[0];
    }
    if (place + 1 < parts_.size()) return;
    Value& whole = joined_.value(sums[0]);
    whole.role = Role::gradient;
    whole.name = parameter;
  }

  const std::vector<StepPart>& parts_;
  const int position_, positions_;
  Graph joined_;
  // By part:
  std::vector<std::vector<ValueId>> new_ids_;
  std::vector<std::vector<bool>> is_constant_;  // depends only on parameters
  std::vector<std::vector<int>> makers_;        // the position that makes a value
  // number of the message, by value and receiving position
  std::vector<std::map<std::pair<ValueId, int>, int64_t>> messages_;
  // Shared by all parts:
  std::map<std::pair<Role, std::string>, ValueId> shared_;  // inputs and state
  std::vector<Node> constants_;                             // of joined_, whose inputs are constant
  std::map<std::string, std::vector<ValueId>> sums_;        // of gradients, by parameter
};

}  // namespace

std::vector<PipelineAction> in_turn(size_t parts) {
  std::vector<PipelineAction> actions;
  for (size_t part = 0; part < parts; ++part)
    for (auto phase : {PipelineAction::forward, PipelineAction::backward})
      actions.push_back({phase, static_cast<int>(part), 0});
  return actions;
}

Graph unroll(const std::vector<StepPart>& parts, const std::vector<PipelineAction>& actions, int position,
             int positions) {
  if (parts.size() == 1 && positions == 1 && parts[0].stages.empty()) return parts[0].graph;
  return Unrolling(parts, position, positions).run(actions);
}

}  // namespace troika
