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
  Unrolling(const std::vector<Network>& networks, int position, int positions)
      : networks_(networks), position_(position), positions_(positions), joined_(networks[0].graph.name()) {
    for (const Network& network : networks) {
      const size_t values = network.graph.values().size();
      new_ids_.emplace_back(values, kNoValue);
      is_constant_.emplace_back(values, false);
      for (ValueId id = 0; id < values; ++id) is_constant_.back()[id] = network.graph.value(id).role == Role::parameter;
    }
    number_messages();
  }

  Graph run(const std::vector<PipelineAction>& actions, bool pauses) {
    for (const PipelineAction& action : actions) {
      if (pauses && action.phase == PipelineAction::backward) {
        append_node(joined_, pause_op, "forward", {});
        pauses = false;
      }
      const auto micro_batch = static_cast<size_t>(action.micro_batch);
      const Network& network = networks_[micro_batch];
      const bool is_forward = action.phase == PipelineAction::forward;
      const size_t end = is_forward ? network.forward_nodes : network.graph.nodes().size();
      for (size_t i = is_forward ? 0 : network.forward_nodes; i < end; ++i)
        if (stage_of(network, i) == action.stage) append(micro_batch, network.graph.nodes()[i]);
    }
    add_trained_parameters();
    for (size_t micro_batch = 0; micro_batch < networks_.size(); ++micro_batch)
      for (const auto& [id, report] : networks_[micro_batch].graph.outputs)
        if (new_ids_[micro_batch][id] != kNoValue && makers_[micro_batch][id] == position_)
          joined_.outputs.push_back({new_ids_[micro_batch][id], report});
    return std::move(joined_);
  }

 private:
  static constexpr int kNobody = -1;

  static int stage_of(const Network& network, size_t node) { return network.stages.empty() ? 0 : network.stages[node]; }

  // Forward values go to later stages, gradients to earlier stages. In the opposite direction ranks
  // would wait for each other.
  static void require_order(const Network& network, size_t maker, size_t reader) {
    const int from = stage_of(network, maker), to = stage_of(network, reader);
    const bool is_forward = reader < network.forward_nodes, is_late = is_forward ? from > to : from < to;
    if (!is_late || (!is_forward && maker < network.forward_nodes)) return;
    const auto& nodes = network.graph.nodes();
    throw Error(Status::internal,
                text("layers: ", nodes[reader].op, " '", nodes[reader].name, "' of stage ", to, " reads what ",
                     nodes[maker].op, " '", nodes[maker].name, "' of stage ", from, " makes too late"));
  }

  // Every value that another position reads is one message per such position, in the order of
  // micro-batches, nodes and positions.
  void number_messages() {
    int64_t next = 0;
    for (const Network& network : networks_) {
      std::vector<int>& makers = makers_.emplace_back(network.graph.values().size(), kNobody);
      std::vector<std::vector<bool>> readers(network.graph.values().size());
      std::vector<size_t> made_by(network.graph.values().size(), 0);
      const auto& nodes = network.graph.nodes();
      for (size_t i = 0; i < nodes.size(); ++i) {
        const int at = position_of_stage(stage_of(network, i), positions_);
        for (ValueId id : nodes[i].outputs) makers[id] = at, made_by[id] = i;
        for (ValueId id : nodes[i].inputs) {
          if (id == kNoValue || makers[id] == kNobody) continue;
          require_order(network, made_by[id], i);
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

  void append(size_t micro_batch, const Node& node) {
    const Graph& graph = networks_[micro_batch].graph;
    std::vector<ValueId>& new_ids = new_ids_[micro_batch];
    bool is_constant = !node.inputs.empty() && node.op->mutates.empty();
    for (ValueId id : node.inputs) is_constant = is_constant && id != kNoValue && is_constant_[micro_batch][id];
    Node copy{node.op, node.name, {}, {}, node.attributes};
    for (ValueId id : node.inputs) copy.inputs.push_back(id == kNoValue ? kNoValue : read(micro_batch, id, node.name));
    if (is_constant) {
      for (ValueId id : node.outputs) is_constant_[micro_batch][id] = true;
      const auto earlier = std::find_if(constants_.begin(), constants_.end(), [&](const Node& n) {
        return n.op == copy.op && n.inputs == copy.inputs && n.attributes == copy.attributes;
      });
      if (earlier != constants_.end()) {
        for (size_t i = 0; i < node.outputs.size(); ++i) new_ids[node.outputs[i]] = earlier->outputs[i];
        return;
      }
    }
    for (ValueId id : node.outputs) copy.outputs.push_back(new_ids[id] = add_value(graph.value(id), micro_batch));
    if (is_constant) constants_.push_back(copy);
    joined_.add_node(std::move(copy));
    for (ValueId id : node.outputs) {
      if (graph.value(id).role == Role::gradient)
        add_gradient(graph.value(id).name, node.name, new_ids[id], micro_batch);
      send(micro_batch, id, node.name);
    }
  }

  void send(size_t micro_batch, ValueId id, const std::string& layer) {
    const auto& messages = messages_[micro_batch];
    for (auto m = messages.lower_bound({id, 0}); m != messages.end() && m->first.first == id; ++m)
      append_node(joined_, send_op, layer, {new_ids_[micro_batch][id]},
                  {{"message", m->second}, {"peer", int64_t{m->first.second}}});
  }

  // Returns the value as this rank has it: state, an input, a value of its own, or a received
  // value.
  ValueId read(size_t micro_batch, ValueId id, const std::string& layer) {
    ValueId& mine = new_ids_[micro_batch][id];
    if (mine != kNoValue) return mine;
    const Value& value = networks_[micro_batch].graph.value(id);
    const auto message = messages_[micro_batch].find({id, position_});
    if (message == messages_[micro_batch].end()) return mine = add_value(value, micro_batch);
    mine = append_node(joined_, receive_op, layer, {},
                       {{"dtype", static_cast<int64_t>(value.type.dtype)},
                        {"message", message->second},
                        {"peer", int64_t{makers_[micro_batch][id]}},
                        {"shape", value.type.shape.dims()}})[0];
    return mine;
  }

  ValueId add_value(Value value, size_t micro_batch) {
    if (value.role == Role::gradient && networks_.size() > 1) value.role = Role::activation;
    if (is_of_samples(value.role) && networks_.size() > 1) value.name += text("/", micro_batch);
    if (value.role == Role::activation) return joined_.add_value(value.name, value.type);
    const auto [found, is_new] = shared_.try_emplace({value.role, value.name}, kNoValue);
    if (is_new) found->second = joined_.add_value(value.name, value.type, value.role);
    return found->second;
  }

  // A network without samples reads no parameters.
  void add_trained_parameters() {
    for (ValueId id = 0, end = static_cast<ValueId>(joined_.values().size()); id < end; ++id) {
      if (joined_.value(id).role != Role::gradient) continue;
      const std::string name = joined_.value(id).name;
      for (const Value& value : networks_[0].graph.values())
        if (value.role == Role::parameter && value.name == name) add_value(value, 0);
    }
  }

  void add_gradient(const std::string& parameter, const std::string& layer, ValueId gradient, size_t micro_batch) {
    if (networks_.size() == 1) return;
    std::vector<ValueId>& sums = sums_[parameter];  // by the micro-batch at which each sum begins
    if (sums.size() != micro_batch)
      throw Error(Status::internal, text("unroll: gradient of '", parameter, "' of micro-batch ", micro_batch,
                                         " comes at ", sums.size()));
    sums.push_back(gradient);
    for (size_t half = 1; half < networks_.size(); half *= 2) {
      const size_t left = micro_batch / (2 * half) * (2 * half), right = left + half;
      const bool is_whole = micro_batch + 1 == std::min(left + 2 * half, networks_.size());
      if (is_whole && right <= micro_batch)
        sums[left] = append_node(joined_, add_op, layer, {sums[left], sums[right]})[0];
    }
    if (micro_batch + 1 < networks_.size()) return;
    Value& whole = joined_.value(sums[0]);
    whole.role = Role::gradient;
    whole.name = parameter;
  }

  const std::vector<Network>& networks_;
  const int position_, positions_;
  Graph joined_;
  // By micro-batch:
  std::vector<std::vector<ValueId>> new_ids_;
  std::vector<std::vector<bool>> is_constant_;  // depends only on parameters
  std::vector<std::vector<int>> makers_;        // the position that makes a value
  // number of the message, by value and receiving position
  std::vector<std::map<std::pair<ValueId, int>, int64_t>> messages_;
  // Shared by all micro-batches:
  std::map<std::pair<Role, std::string>, ValueId> shared_;  // inputs and state
  std::vector<Node> constants_;                             // of joined_, whose inputs are constant
  std::map<std::string, std::vector<ValueId>> sums_;        // of gradients, by parameter
};

}  // namespace

std::vector<PipelineAction> in_turn(size_t micro_batches) {
  std::vector<PipelineAction> actions;
  for (size_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
    for (auto phase : {PipelineAction::forward, PipelineAction::backward})
      actions.push_back({phase, static_cast<int>(micro_batch), 0});
  return actions;
}

Graph unroll(const std::vector<Network>& networks, const std::vector<PipelineAction>& actions, int position,
             int positions, bool pauses) {
  if (networks.size() == 1 && positions == 1 && networks[0].stages.empty() && !pauses) return networks[0].graph;
  return Unrolling(networks, position, positions).run(actions, pauses);
}

}  // namespace troika
