// Estimates one mesh: its state by the state table, the rest by the graphs of the ranks. Then
// chooses among all meshes.
#include "plan/estimate.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/text.h"
#include "ops/batch_norm2d.h"
#include "parallel/pipeline_simulator.h"
#include "plan/step_layout.h"

namespace troika {
namespace {

constexpr double kAddedPasses = 3;  // over a gradient: two are read, and their sum is written

// Returns 2 (n - 1) / n of the bytes that n devices sum.
size_t ring_bytes(size_t bytes, int devices) {
  const auto n = static_cast<size_t>(devices);
  return 2 * (n - 1) * bytes / n;
}

// Returns the bytes of all ranks of a channel group together; 0: the node exchanges none.
size_t exchanged_bytes(const Graph& graph, const Node& node) {
  if (node.op == &channel_gather_op) return graph.type(node.outputs[0]).bytes();
  return node.op == &channel_scatter_op ? graph.type(node.inputs[0]).bytes() : 0;
}

bool is_update(const Node& node) { return node.op->as<ConditioningOp>() || node.op->as<UpdateOp>(); }

// The planner refuses what `troika_model_attach` refuses, and also the batch, which a trainer meets
// at its first step. BatchNorm has no deviation of a single value, and the smallest micro-batch
// has fewest.
void check_batch(const Graph& model, const PlannedStep& step, const RankMap& ranks) {
  const int64_t smallest = smallest_part({step.logical_shards > 0 ? step.logical_shards : ranks.shares(), step.shares},
                                         step.batch, step.micro_batches, step.syncs_statistics);
  if (smallest > 1) return;
  for (const Node& node : model.nodes()) {
    if (node.op != &batch_norm2d_op) continue;
    const Shape& x = model.type(node.inputs[batch_norm2d::x]).shape;  // [1, channels, h, w]
    if (x.elements() == x[1])
      throw Error(Status::invalid_argument,
                  text("batch_norm2d '", node.name,
                       "': training needs more than 1 value a channel, a part of the batch has 1; ",
                       "use a larger batch or fewer parts"));
  }
}

StepSpec with_mesh(StepSpec spec, const Mesh& mesh) {
  spec.mesh = mesh;
  return spec;
}

// Returns the first channel at a position of the pipeline: no rank of a share has more channels.
int part_of(const StepLayout& layout, int position) { return layout.ranks().part_at(position, 0); }

class MeshEstimator {
 public:
  MeshEstimator(const Graph& model, const PlannedStep& step, const Machine& machine, const Mesh& mesh,
                const ArenaOf& arena_of)
      : layout_(planned_layout(model, step, machine, mesh)),
        ranks_(layout_.ranks()),
        batch_(step.batch),
        machine_(machine),
        arena_of_(arena_of) {
    check_batch(model, step, ranks_);
    check_nodes();
  }

  MeshEstimate run() {
    MeshEstimate estimate{layout_.spec().mesh, {}, 0, 0};
    const CompileRequest first = planned_request(layout_, batch_, 0);
    const auto micro_batches = static_cast<int>(first.micro_batches.size());
    Network network = build_network(first, first.micro_batches.front().samples.size(), Log());
    if (layout_.stages()) network.stages = layout_.stages()->assign(network.graph);
    const std::vector<StageCost> costs = stage_costs(network, micro_batches > 1);
    const PipelineTable table = schedule_of(first, micro_batches);
    const PipelineSimulation simulation = simulate_pipeline(table, micro_batches, costs);
    estimate.bubble = simulation.bubble;
    for (int position = 0; position < ranks_.positions(); ++position) {
      const auto at = static_cast<size_t>(position);
      double tail = 0;
      estimate.devices.push_back(estimate_device(position, tail));
      const double last_backward = costs[static_cast<size_t>(table[at].back().stage)].backward;
      estimate.seconds = std::max(estimate.seconds, simulation.starts[at].back() + last_backward + tail);
    }
    return estimate;
  }

 private:
  // Only sums over the shares of the samples are estimated over several nodes.
  void check_nodes() const {
    if (machine_.devices_per_node == 0) return;
    const char* const what = ranks_.positions() > 1 || ranks_.channels() > 1 ? "a split by layer or channel"
                             : layout_.shards_optimizer()                    ? "a sharded optimizer"
                                                                             : nullptr;
    if (what)
      throw Error(Status::unsupported, text("plan: found ", what, " over nodes of ", machine_.devices_per_node,
                                            " devices, need a split by data alone"));
  }

  // The most that one rank of the data group updates.
  struct OptimizerShare {
    size_t state_bytes = 0;      // on lines of the arena
    size_t parameter_bytes = 0;  // as they travel
    double of_own_update = 1;    // its time, as a multiple of the first rank's update
  };

  OptimizerShare optimizer_share(const StateTable& state) const {
    OptimizerShare most;
    size_t first = 0;
    for (int rank = 0; rank < ranks_.shares(); ++rank) {
      size_t own = 0;
      for (const StateEntry& entry : state.entries())
        if (entry.bucket >= 0 && (entry.owner < 0 || entry.owner == rank)) own += entry.bytes;
      if (rank == 0) first = own;
      most.state_bytes = std::max(most.state_bytes, state.segment_bytes(Segment::optimizer, rank));
      most.parameter_bytes = std::max(most.parameter_bytes, own);
    }
    if (first > 0) most.of_own_update = static_cast<double>(most.parameter_bytes) / static_cast<double>(first);
    return most;
  }

  double seconds(const Graph& graph, const Node& node) const {
    if (node.op == &channel_sum_op) return sum_seconds(graph.type(node.inputs[0]).bytes(), ranks_.channels(), machine_);
    // A sum in a ring is two such rounds.
    if (const size_t bytes = exchanged_bytes(graph, node)) return sum_seconds(bytes, ranks_.channels(), machine_) / 2;
    return node_seconds(graph, node, machine_);
  }

  // Returns the cost of a micro-batch on each stage, and of the messages from it.
  std::vector<StageCost> stage_costs(const Network& network, bool adds_gradients) const {
    const size_t stages = layout_.stages() ? static_cast<size_t>(layout_.stages()->count()) : 1;
    const auto& nodes = network.graph.nodes();
    std::vector<StageCost> costs(stages, {0, 0, 0, 0});
    std::vector<size_t> makers(network.graph.values().size(), nodes.size());
    std::set<std::pair<ValueId, int>> messages;  // from a value to a position
    std::vector<double> up(stages, 0), down(stages, 0);
    auto stage_of = [&](size_t node) { return network.stages.empty() ? 0 : network.stages[node]; };
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int stage = stage_of(i);
      StageCost& cost = costs[static_cast<size_t>(stage)];
      double& time = i < network.forward_nodes ? cost.forward : cost.backward;
      time += seconds(network.graph, nodes[i]);
      for (ValueId id : nodes[i].outputs) {
        makers[id] = i;
        if (adds_gradients && network.graph.value(id).role == Role::gradient)
          time += kAddedPasses * static_cast<double>(network.graph.type(id).bytes()) / machine_.memory_bandwidth;
      }
      for (ValueId id : nodes[i].inputs) {
        if (id == kNoValue || makers[id] == nodes.size()) continue;
        const int from = stage_of(makers[id]), to = ranks_.position_of_stage(stage);
        if (ranks_.position_of_stage(from) == to || !messages.insert({id, to}).second) continue;
        (makers[id] < network.forward_nodes ? up : down)[static_cast<size_t>(from)] +=
            message_seconds(network.graph.type(id).bytes(), machine_);
      }
    }
    // One transfer stands for sending an output to the next stage and its gradient back.
    for (size_t s = 0; s + 1 < stages; ++s) costs[s].transfer = std::max(up[s], down[s + 1]);
    return costs;
  }

  // `tail`: the seconds that the device works after its last backward.
  DeviceEstimate estimate_device(int position, double& tail) const {
    const CompileRequest request = planned_request(layout_, batch_, position);
    StateTable state = layout_.make_state_table(part_of(layout_, position));
    state.place();
    const Graph graph = build_graph(request, Log());
    DeviceEstimate device;
    device.parameter_bytes = state.segment_bytes(Segment::parameters);
    device.gradient_bytes = state.segment_bytes(Segment::gradients);
    if (arena_of_) {
      StateTable open = layout_.make_state_table(part_of(layout_, position));  // the kernels choose its layouts
      device.activation_bytes = arena_of_(request, open);
    } else {
      device.activation_bytes = activation_bytes(graph);
    }
    const OptimizerShare share = optimizer_share(state);
    device.optimizer_bytes = share.state_bytes;

    double now = 0, reduced = 0, update = 0;  // clocks of nodes and of sums of buckets, without waits for other ranks
    size_t gradients = 0, sums = 0;
    for (const Node& node : graph.nodes()) {
      size_t bytes = 0;
      for (ValueId id : node.inputs)
        if (id != kNoValue) bytes += graph.type(id).bytes();
      if (node.op == &all_reduce_op) {
        if (layout_.spec().compresses_gradients) bytes /= 2;
        gradients += bytes;
        reduced = std::max(reduced, now) + sum_seconds(bytes, ranks_.shares(), machine_);
      } else if (node.op == &channel_sum_op) {
        sums += bytes;
      } else if (const size_t exchanged = exchanged_bytes(graph, node)) {
        sums += exchanged / 2;
      } else if (node.op == &send_op) {
        device.layer_bytes += bytes;
      }
      (is_update(node) ? update : now) += seconds(graph, node) * (node.op->as<UpdateOp>() ? share.of_own_update : 1);
    }
    const int others = layout_.shards_optimizer() ? ranks_.shares() - 1 : 0;
    device.data_bytes = ring_bytes(gradients, ranks_.shares()) + static_cast<size_t>(others) * share.parameter_bytes;
    device.channel_bytes = ring_bytes(sums, ranks_.channels());
    tail = std::max(0.0, reduced - now) + update + others * message_seconds(share.parameter_bytes, machine_);
    return device;
  }

  const StepLayout layout_;
  const RankMap& ranks_;
  const int64_t batch_;
  const Machine& machine_;
  const ArenaOf& arena_of_;
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

StepLayout planned_layout(const Graph& model, const PlannedStep& step, const Machine& machine, const Mesh& mesh) {
  return StepLayout(model, with_mesh(step, mesh), machine.devices, "");
}

CompileRequest planned_request(const StepLayout& layout, int64_t batch, int position) {
  return layout.request(
      Mode::train, batch,
      layout.ranks().rank_of(static_cast<int>(layout.share_sizes().largest()), part_of(layout, position)));
}

MeshEstimate estimate_mesh(const Graph& model, const PlannedStep& step, const Machine& machine, const Mesh& mesh,
                           const ArenaOf& arena_of) {
  return MeshEstimator(model, step, machine, mesh, arena_of).run();
}

MeshEstimate choose_mesh(const Graph& model, const PlannedStep& step, const Machine& machine, const ArenaOf& arena_of) {
  std::optional<MeshEstimate> fastest, smallest;
  std::string refusal;
  for (const Mesh& mesh : meshes_of(machine.devices)) {
    MeshEstimate estimate;
    try {
      estimate = estimate_mesh(model, step, machine, mesh);
    } catch (const Error& e) {
      const bool cannot_work = e.status() == Status::invalid_argument || e.status() == Status::unsupported ||
                               e.status() == Status::out_of_memory;  // of an activation budget
      if (!cannot_work) throw;
      if (refusal.empty()) refusal = text("mesh ", name_of(mesh), ": ", e.what());
      continue;
    }
    size_t bytes = estimate.fullest().memory_bytes();
    // Compiling takes time: only a mesh that would be chosen is compiled.
    if (arena_of && bytes <= machine.memory_bytes && (!fastest || estimate.seconds < fastest->seconds)) {
      estimate = estimate_mesh(model, step, machine, mesh, arena_of);
      bytes = estimate.fullest().memory_bytes();
    }
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
