// One mesh: state by the state table, the rest by the graphs that the ranks would be given. And the choice among all meshes.
#include "plan/estimate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/text.h"
#include "parallel/pipeline_simulator.h"
#include "plan/compile.h"

namespace troika {
namespace {

constexpr double kAddedPasses = 3;  // over a gradient: two are read, their sum is written

// 2 (n - 1) / n of what n devices sum.
size_t ring_bytes(size_t bytes, int devices) {
  const auto n = static_cast<size_t>(devices);
  return 2 * (n - 1) * bytes / n;
}

// Of all ranks of a channel group together; 0: the node exchanges none.
size_t exchanged_bytes(const Graph& graph, const Node& node) {
  if (node.op == &channel_gather_op) return graph.type(node.outputs[0]).bytes();
  return node.op == &channel_scatter_op ? graph.type(node.inputs[0]).bytes() : 0;
}

bool is_update(const Node& node) { return node.op->as<ConditioningOp>() || node.op->as<UpdateOp>(); }

// What attaching refuses, where it is to be asked, and what has no graph.
void check_mesh(const Graph& model, const StepSettings& settings, const Mesh& mesh) {
  std::string refusal = refusal_of(mesh, settings.logical_shards > 0);
  if (!refusal.empty()) throw Error(Status::unsupported, refusal);
  if (settings.logical_shards > 0)
    refusal = refusal_of_shards(settings.logical_shards, settings.micro_batches, mesh.data);
  if (!refusal.empty()) throw Error(Status::invalid_argument, refusal);
  // BatchNorm has no deviation of one value; the smallest part of all shares has fewest.
  const int64_t parts = settings.logical_shards > 0 ? settings.logical_shards : mesh.data * settings.micro_batches;
  if (settings.batch / parts > 1) return;
  for (const Node& node : model.nodes()) {
    if (node.op != &batch_norm2d_op) continue;
    const Shape& x = model.type(node.inputs[0]).shape;  // [1, channels, h, w]
    if (x.elements() == x[1])
      throw Error(Status::invalid_argument,
                  text("batch_norm2d '", node.name,
                       "': training needs more than 1 value a channel, a part of the batch has 1; ",
                       "use a larger batch or fewer parts"));
  }
}

class MeshEstimator {
 public:
  MeshEstimator(const Graph& model, const StepSettings& settings, const Machine& machine, const Mesh& mesh)
      : model_(model), settings_(settings), machine_(machine), mesh_(spread(mesh, machine.devices)) {
    check_mesh(model, settings, mesh_);
    if (mesh_.layer > 1) stages_.emplace(model, mesh_.layer * settings.chunks);
    if (mesh_.channel > 1) channel_split_.emplace(model, mesh_.channel);
    for (const Value& value : model.values())
      if (value.role == Role::parameter) trainable_.push_back(value.name);
  }

  MeshEstimate run() {
    MeshEstimate estimate{mesh_, {}, 0, 0};
    const CompileRequest first = request_of(0);
    const auto micro_batches = static_cast<int>(first.micro_batches.size());
    StepPart part = build_part(first, first.micro_batches.front().samples.size(), Log());
    if (stages_) part.stages = stages_->assign(part.graph);
    const std::vector<StageCost> costs = stage_costs(part, micro_batches > 1);
    const PipelineTable table = schedule_of(first, micro_batches);
    const PipelineSimulation simulation = simulate_pipeline(table, micro_batches, costs);
    estimate.bubble = simulation.bubble;
    for (int position = 0; position < mesh_.layer; ++position) {
      const auto at = static_cast<size_t>(position);
      double tail = 0;
      estimate.devices.push_back(estimate_device(position, tail));
      const double last_backward = costs[static_cast<size_t>(table[at].back().stage)].backward;
      estimate.seconds = std::max(estimate.seconds, simulation.starts[at].back() + last_backward + tail);
    }
    return estimate;
  }

 private:
  // As a trainer asks for the graph of the first share's rank at `position`, first of its channel group.
  CompileRequest request_of(int position) const {
    CompileRequest request(model_);
    const bool has_shards = settings_.logical_shards > 0;
    const Range own = has_shards ? samples_of_shards(settings_.logical_shards, settings_.batch, mesh_.data, 0)
                                 : balanced_split(settings_.batch, mesh_.data, 0);
    request.local_batch = own.size();
    request.global_batch = settings_.batch;
    request.micro_batches = has_shards ? cut_logical_shards(settings_.logical_shards, settings_.batch, mesh_.data, 0)
                                       : cut_micro_batches(settings_.micro_batches, own);
    request.ranks = mesh_.data;
    if (stages_) {
      request.stages = &*stages_;
      request.position = position;
      request.positions = mesh_.layer;
      request.schedule = settings_.schedule;
    }
    if (channel_split_) request.channel_split = &*channel_split_;
    request.loss = settings_.loss;
    request.compute = settings_.compute;
    request.allow_tf32 = settings_.allow_tf32;
    request.sgd = settings_.sgd;
    request.recompute = settings_.recompute;
    request.trainable = trainable_;
    std::vector<NamedBytes> sizes;
    for (const Value& value : model_.values())
      if (value.role == Role::parameter && is_held(value.name, position)) {
        request.own_trainable.push_back(value.name);
        sizes.push_back({value.name, type_of(value).bytes()});
      }
    request.buckets = make_buckets(sizes, settings_.bucket_bytes);
    for (const Bucket& bucket : request.buckets) request.groups.push_back({bucket.parameters, 0, 0});
    request.compresses_gradients = settings_.compresses_gradients;
    return request;
  }

  bool is_held(const std::string& name, int position) const {
    return (!stages_ || stages_->stage_of_state(name) % mesh_.layer == position) &&
           (!channel_split_ || channel_split_->slice_of(name, 0).is_held);
  }

  TensorType type_of(const Value& value) const {
    if (!channel_split_) return value.type;
    return {value.type.dtype, sliced(value.type.shape, channel_split_->slice_of(value.name, 0))};
  }

  StateTable state_of(const CompileRequest& request) const {
    std::vector<StateEntry> entries;
    std::map<std::string, int> owners;
    if (settings_.shards_optimizer && mesh_.data > 1) {
      std::vector<NamedBytes> sizes;
      for (const std::string& name : request.own_trainable)
        sizes.push_back({name, type_of(model_.value(*model_.find(name))).bytes()});
      owners = assign_owners(sizes, mesh_.data);
    }
    auto add = [&](const Value& value, int bucket) {
      StateEntry entry;
      entry.name = value.name;
      entry.type = type_of(value);
      entry.bucket = bucket;
      if (const auto owner = owners.find(value.name); owner != owners.end()) entry.owner = owner->second;
      entries.push_back(entry);
    };
    for (size_t b = 0; b < request.buckets.size(); ++b)
      for (const std::string& name : request.buckets[b].parameters)
        add(model_.value(*model_.find(name)), static_cast<int>(b));
    for (const Value& value : model_.values())
      if (value.role == Role::buffer && is_held(value.name, request.position)) add(value, -1);
    if (settings_.sgd.is_scaled) add({kLossScale, {DType::f32, {2}}, Role::buffer}, -1);
    StateTable table(std::move(entries), settings_.sgd.momentum > 0);
    table.place();
    return table;
  }

  // What one rank of the data group updates at most.
  struct OptimizerShare {
    size_t state_bytes = 0;      // on lines of the arena
    size_t parameter_bytes = 0;  // as they travel
    double of_update = 1;        // of the time for all parameters
  };

  OptimizerShare optimizer_share(const StateTable& state) const {
    OptimizerShare most;
    size_t all = 0;
    for (int rank = 0; rank < mesh_.data; ++rank) {
      size_t own = 0;
      for (const StateEntry& entry : state.entries())
        if (entry.bucket >= 0 && (entry.owner < 0 || entry.owner == rank)) own += entry.bytes;
      most.state_bytes = std::max(most.state_bytes, state.segment_bytes(Segment::optimizer, rank));
      most.parameter_bytes = std::max(most.parameter_bytes, own);
    }
    for (const StateEntry& entry : state.entries()) all += entry.bucket >= 0 ? entry.bytes : 0;
    most.of_update = static_cast<double>(most.parameter_bytes) / static_cast<double>(std::max<size_t>(all, 1));
    return most;
  }

  double seconds(const Graph& graph, const Node& node) const {
    if (node.op == &channel_sum_op) return sum_seconds(graph.type(node.inputs[0]).bytes(), mesh_.channel, machine_);
    // A sum in a ring is two such rounds.
    if (const size_t bytes = exchanged_bytes(graph, node)) return sum_seconds(bytes, mesh_.channel, machine_) / 2;
    return node_seconds(graph, node, machine_);
  }

  // What a micro-batch costs each stage, and the messages from it.
  std::vector<StageCost> stage_costs(const StepPart& part, bool adds_gradients) const {
    const size_t stages = stages_ ? static_cast<size_t>(stages_->count()) : 1;
    const auto& nodes = part.graph.nodes();
    std::vector<StageCost> costs(stages, {0, 0, 0, 0});
    std::vector<size_t> makers(part.graph.values().size(), nodes.size());
    std::set<std::pair<ValueId, int>> messages;  // of a value to a position
    std::vector<double> up(stages, 0), down(stages, 0);
    auto stage_of = [&](size_t node) { return part.stages.empty() ? 0 : part.stages[node]; };
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int stage = stage_of(i);
      StageCost& cost = costs[static_cast<size_t>(stage)];
      double& time = i < part.forward_nodes ? cost.forward : cost.backward;
      time += seconds(part.graph, nodes[i]);
      for (ValueId id : nodes[i].outputs) {
        makers[id] = i;
        if (adds_gradients && part.graph.value(id).role == Role::gradient)
          time += kAddedPasses * static_cast<double>(part.graph.type(id).bytes()) / machine_.memory_bandwidth;
      }
      for (ValueId id : nodes[i].inputs) {
        if (id == kNoValue || makers[id] == nodes.size()) continue;
        const int from = stage_of(makers[id]), to = stage % mesh_.layer;
        if (from % mesh_.layer == to || !messages.insert({id, to}).second) continue;
        (makers[id] < part.forward_nodes ? up : down)[static_cast<size_t>(from)] +=
            message_seconds(part.graph.type(id).bytes(), machine_);
      }
    }
    // One transfer stands for an output's way to the next stage and for its gradient's way back.
    for (size_t s = 0; s + 1 < stages; ++s) costs[s].transfer = std::max(up[s], down[s + 1]);
    return costs;
  }

  // `tail`: the seconds that the device works on behind its last backward.
  DeviceEstimate estimate_device(int position, double& tail) const {
    const CompileRequest request = request_of(position);
    const StateTable state = state_of(request);
    const Graph graph = build_graph(request, Log());
    DeviceEstimate device;
    device.parameter_bytes = state.segment_bytes(Segment::parameters);
    device.gradient_bytes = state.segment_bytes(Segment::gradients);
    device.activation_bytes = activation_bytes(graph);
    const OptimizerShare share = optimizer_share(state);
    device.optimizer_bytes = share.state_bytes;

    double now = 0, reduced = 0, update = 0;  // clocks of nodes and of sums of buckets, without waiting for others
    size_t gradients = 0, sums = 0;
    for (const Node& node : graph.nodes()) {
      size_t bytes = 0;
      for (ValueId id : node.inputs)
        if (id != kNoValue) bytes += graph.type(id).bytes();
      if (node.op == &all_reduce_op) {
        if (settings_.compresses_gradients) bytes /= 2;
        gradients += bytes;
        reduced = std::max(reduced, now) + sum_seconds(bytes, mesh_.data, machine_);
      } else if (node.op == &channel_sum_op) {
        sums += bytes;
      } else if (const size_t exchanged = exchanged_bytes(graph, node)) {
        sums += exchanged / 2;
      } else if (node.op == &send_op) {
        device.layer_bytes += bytes;
      }
      (is_update(node) ? update : now) += seconds(graph, node) * (node.op->as<UpdateOp>() ? share.of_update : 1);
    }
    const int others = settings_.shards_optimizer ? mesh_.data - 1 : 0;
    device.data_bytes = ring_bytes(gradients, mesh_.data) + static_cast<size_t>(others) * share.parameter_bytes;
    device.channel_bytes = ring_bytes(sums, mesh_.channel);
    tail = std::max(0.0, reduced - now) + update + others * message_seconds(share.parameter_bytes, machine_);
    return device;
  }

  const Graph& model_;
  const StepSettings& settings_;
  const Machine& machine_;
  const Mesh mesh_;
  std::optional<LayerStages> stages_;
  std::optional<ChannelSplit> channel_split_;
  std::vector<std::string> trainable_;
};

}  // namespace

const DeviceEstimate& MeshEstimate::fullest() const {
  return *std::max_element(devices.begin(), devices.end(), [](const DeviceEstimate& a, const DeviceEstimate& b) {
    return a.memory_bytes() < b.memory_bytes();
  });
}

size_t MeshEstimate::sent_bytes() const {
  size_t most = 0;
  for (const DeviceEstimate& device : devices) most = std::max(most, device.sent_bytes());
  return most;
}

MeshEstimate estimate_mesh(const Graph& model, const StepSettings& settings, const Machine& machine, const Mesh& mesh) {
  return MeshEstimator(model, settings, machine, mesh).run();
}

MeshEstimate choose_mesh(const Graph& model, const StepSettings& settings, const Machine& machine) {
  std::optional<MeshEstimate> fastest, smallest;
  std::string refusal;
  for (const Mesh& mesh : meshes_of(machine.devices)) {
    MeshEstimate estimate;
    try {
      estimate = estimate_mesh(model, settings, machine, mesh);
    } catch (const Error& e) {
      const bool cannot_work = e.status() == Status::invalid_argument || e.status() == Status::unsupported ||
                               e.status() == Status::out_of_memory;  // of an activation budget
      if (!cannot_work) throw;
      if (refusal.empty()) refusal = text("mesh ", name_of(mesh), ": ", e.what());
      continue;
    }
    const size_t bytes = estimate.fullest().memory_bytes();
    if (bytes <= machine.memory_bytes && (!fastest || estimate.seconds < fastest->seconds)) fastest = estimate;
    if (!smallest || bytes < smallest->fullest().memory_bytes()) smallest = std::move(estimate);
  }
  if (fastest) return *fastest;
  const std::string who = text("plan: model '", model.name(), "' ");
  if (!smallest)
    throw Error(Status::not_found, text(who, "works on no mesh of ", machine.devices, " devices; ", refusal));
  throw Error(Status::not_found, text(who, "fits no mesh of ", machine.devices, " devices with ", machine.memory_bytes,
                                      " bytes each; mesh ", name_of(smallest->mesh), " needs least, ",
                                      smallest->fullest().memory_bytes(), " bytes"));
}

}  // namespace troika
