// The recipe, to be read from top to bottom.
#include "plan/compile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "core/text.h"
#include "parallel/late_updates.h"
#include "parallel/rank_map.h"
#include "passes/passes.h"
#include "passes/precision.h"
#include "plan/recompute_choice.h"

namespace troika {
namespace {

constexpr const char* kCompiling = "compiling a plan";

// Runs passes one by one, except those that are left out. After each pass the graph is verified and
// timed. If the log's `dumped_pass` is the pass, the graph is written to the log.
class PassManager {
 public:
  PassManager(Graph& graph, const CompileRequest& request, const Log& log)
      : graph_(graph), interruption_(request.interruption), left_out_(request.spec.left_out), log_(log) {}

  template <typename Pass>
  void run(const char* name, Pass&& pass) {
    if (std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end()) return;
    interruption_.check(kCompiling);
    const auto begin = std::chrono::steady_clock::now();
    pass(graph_);
    verify(graph_);
    if (log_.wants(LogTopic::plan, LogLevel::debug)) {
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      log_.write(LogTopic::plan, LogLevel::debug,
                 text("pass ", name, ": ", graph_.nodes().size(), " nodes, ", took.count(), " ms"));
    }
    if (log_.dumped_pass() == name) dump();
  }

 private:
  void dump() const {
    std::istringstream lines(print_graph(graph_));
    // the caller asked for it, so at any level
    for (std::string line; std::getline(lines, line);) log_.write(LogTopic::plan, LogLevel::error, line);
  }

  Graph& graph_;
  const Interruption& interruption_;
  const std::vector<std::string>& left_out_;
  const Log& log_;
};

// A bias that another rank of the channel group adds is not in the graph.
std::vector<std::string> trainable_in(const Graph& graph, std::vector<std::string> trainable) {
  std::erase_if(trainable, [&](const std::string& name) { return !graph.find(name); });
  return trainable;
}

}  // namespace

const std::vector<std::string>& optional_passes() {
  static const std::vector<std::string> passes = {"crop_unread", "fuse_relus", "fuse_pools",    "fuse_adds",
                                                  "zero_biases", "share_sums", "absorb_biases", "fuse_casts",
                                                  "run_beside",  "fuse_loss",  "plain_pools",   "fuse_sums",
                                                  "fuse_norms",  "close_gaps", "fuse_widening", "keep_copies"};
  return passes;
}

namespace {

// The mean is over the labels of the whole batch. If labels may be ignored or have weights, the
// divisor is known only when the step is fed (StepSpec::counts_labels).
LossForm loss_form(const CompileRequest& r, const Shape& output) {
  const bool trains = r.mode == Mode::train, is_mean = r.spec.reduction == Reduction::mean;
  LossForm form;
  form.kind = r.spec.loss;
  form.labels = r.spec.labels;
  form.delta = r.spec.huber_delta;
  form.is_scaled = trains && r.spec.conditioning.is_scaled;
  form.has_weights = r.spec.has_weights();
  form.is_weighed = trains && (r.spec.counts_labels() || r.form.is_weighed);
  if (is_mean && !(trains && r.spec.counts_labels()))
    form.scale = 1.0 / static_cast<double>(r.global_batch * labels_per_sample(r.spec.loss, output));
  return form;
}

// Between its pieces, a step also returns the network's output.
void append_training_loss(Graph& graph, const CompileRequest& r) {
  const ValueId output = graph.outputs[0];
  append_loss(graph, loss_form(r, graph.type(output).shape));
  if (r.form.part == StepForm::passes) graph.outputs.push_back({output, Report::value});
}

// Throws OUT_OF_MEMORY if a value has more elements than kernels can count, in 32 bits. Libraries
// of kernels would not refuse all such sizes.
void check_sizes(const Graph& graph) {
  const auto check = [&](ValueId id, const std::string& what) {
    const Shape& shape = graph.type(id).shape;
    if (shape.has_more_than(INT32_MAX))
      throw Error(Status::out_of_memory, text(what, ": a device computes on at most ", INT32_MAX, " elements, shape ",
                                              shape, " has more; use a smaller batch or more micro-batches"));
  };
  for (ValueId id = 0; id < graph.values().size(); ++id)
    if (is_input(graph.value(id).role)) check(id, text("input '", graph.value(id).name, "'"));
  for (const Node& node : graph.nodes())
    for (ValueId id : node.outputs) check(id, text("layer '", node.name, "'"));
}

// Returns the place of the node that makes a value.
size_t place_of_maker(const Graph& graph, ValueId id) {
  const auto makes = [=](const Node& node) { return std::count(node.outputs.begin(), node.outputs.end(), id) > 0; };
  return static_cast<size_t>(std::find_if(graph.nodes().begin(), graph.nodes().end(), makes) - graph.nodes().begin());
}

// Appends the backward pass, and fuses what both passes have in common. Returns the number of
// forward nodes that are left.
size_t append_backward(PassManager& passes, Graph& graph, const CompileRequest& r, const StageOf& stage_of) {
  const ValueId last = graph.nodes().back().outputs[0];  // of the forward pass
  const auto trainable = r.channel_split ? trainable_in(graph, r.trainable) : r.trainable;
  passes.run("autodiff", [&](Graph& g) { autodiff(g, trainable, r.form.has_input_gradient); });
  if (r.spec.allow_tf32) passes.run("allow_tf32", allow_tf32);
  if (r.spec.fuse) {
    passes.run("fuse_relus", fuse_relus);
    // Ranks of a channel group must have the same nodes, and GPUs of two kinds may differ.
    if (r.fuses_pool && !r.channel_split)
      passes.run("fuse_pools", [&](Graph& g) { fuse_pools(g, r.fuses_pool, stage_of); });
  }
  return place_of_maker(graph, last) + 1;
}

// Returns the network with its gradients for rank `channel_rank` of a channel group, and its number
// of forward nodes.
Network differentiate_network(const CompileRequest& r, int64_t samples, int channel_rank, const Log& log) {
  const bool trains = r.mode == Mode::train;
  if (samples > INT32_MAX)  // products of shapes might overflow
    throw Error(Status::out_of_memory, text("batch: a device computes on at most ", INT32_MAX, " elements, it has ",
                                            samples, " samples; use a smaller batch or more micro-batches"));
  Graph graph = r.model;
  if (r.output != kNoValue) graph.outputs = {r.output};
  PassManager passes(graph, r, log);
  passes.run("rebatch", [&](Graph& g) { g = rebatch(g, samples); });
  // Before `inference`: a layer that it removes, such as dropout, must not change how the next
  // layer's parameters are cut.
  if (r.channel_split) passes.run("channel_split", [&](Graph& g) { g = r.channel_split->apply(g, channel_rank); });
  check_sizes(graph);
  if (!trains) passes.run("inference", to_inference);
  if (r.mode != Mode::predict) {
    if (r.form.has_own_loss)
      passes.run("own_loss", append_own_loss);
    else
      passes.run("loss", [&](Graph& g) { append_training_loss(g, r); });
  }
  const StageOf stage_of = r.stages ? [&](const std::string& layer) { return r.stages->stage_of(layer); } : StageOf();
  if (r.spec.fuse) {
    passes.run("fuse", [&](Graph& g) { fuse(g, stage_of); });
    passes.run("crop_unread", crop_unread);
  }
  if (trains && r.spec.syncs_statistics && r.ranks > 1)
    passes.run("sync_batch_norm", [&](Graph& g) { sync_batch_norm(g, r.rank, r.ranks); });
  if (r.spec.compute != DType::f32)
    passes.run("mixed_precision", [&](Graph& g) { mixed_precision(g, r.spec.compute); });
  size_t forward_nodes = graph.nodes().size();
  if (trains)
    forward_nodes = append_backward(passes, graph, r, stage_of);
  else if (r.spec.allow_tf32)
    passes.run("allow_tf32", allow_tf32);
  return {std::move(graph), forward_nodes, {}};
}

// Returns the bytes of activations on the rank of the pipeline that needs most.
size_t most_activation_bytes(const CompileRequest& r, Network network) {
  if (r.stages) network.stages = r.stages->assign(network.graph);
  const std::vector<Network> networks(std::max<size_t>(r.micro_batches.size(), 1), network);
  const PipelineTable table = schedule_of(r, static_cast<int>(networks.size()));
  size_t most = 0;
  r.interruption.check(kCompiling);
  for (int position = 0; position < r.positions; ++position)
    most =
        std::max(most, activation_bytes(unroll(networks, table[static_cast<size_t>(position)], position, r.positions)));
  return most;
}

}  // namespace

Network build_network(const CompileRequest& r, int64_t samples, const Log& log) {
  Network network = differentiate_network(r, samples, r.channel_rank, log);
  if (r.mode != Mode::train || !r.spec.recompute.is_on()) return network;
  PassManager passes(network.graph, r, log);
  passes.run("recompute", [&](Graph& g) {
    const Graph first = r.channel_rank > 0 ? differentiate_network(r, samples, 0, Log()).graph : g;
    const auto bytes_of = [&](const Graph& recomputed) {
      return most_activation_bytes(r, {recomputed, network.forward_nodes, {}});
    };
    const Dropped dropped = choose_dropped(first, r.spec.recompute,
                                           r.stages ? r.stages->find_crossing(first) : std::vector<bool>(), bytes_of);
    recompute(g, carry_over(first, dropped, g));
  });
  return network;
}

PipelineTable schedule_of(const CompileRequest& r, int micro_batches) {
  const int chunks = r.stages ? chunks_of(r.stages->count(), r.positions) : 1;
  if (r.form.part == StepForm::passes) return make_plain_schedule(r.positions, micro_batches, chunks);
  if (!r.stages) return {in_turn(static_cast<size_t>(micro_batches))};
  const bool fits =
      r.spec.pipeline_schedule != PipelineSchedule::interleaved || can_interleave(micro_batches, r.positions);
  return fits ? make_pipeline_schedule(r.spec.pipeline_schedule, r.positions, micro_batches, chunks)
              : make_plain_schedule(r.positions, micro_batches, chunks);
}

namespace {

// Returns the networks of a training step, one per micro-batch. There are at most two sizes. A
// network without samples contributes only to sums.
std::vector<Network> build_micro_batches(const CompileRequest& r, const Log& log) {
  std::map<int64_t, Network> of_size;
  std::vector<Network> networks;
  for (const MicroBatch& micro_batch : r.micro_batches) {
    r.interruption.check(kCompiling);
    const int64_t samples = std::max<int64_t>(micro_batch.samples.size(), 1);
    auto found = of_size.find(samples);
    if (found == of_size.end()) {
      found = of_size.emplace(samples, build_network(r, samples, log)).first;
      if (r.stages) found->second.stages = r.stages->assign(found->second.graph);
    }
    if (micro_batch.together > 0 && r.ranks > 1) require_several_values(rebatch(r.model, 1), micro_batch.together);
    networks.push_back(micro_batch.samples.size() > 0 ? found->second : idle_network(found->second));
    set_sample_offset(networks.back().graph, micro_batch.samples.begin);
    if (!micro_batch.tracks_statistics) stop_tracking(networks.back().graph);
  }
  return networks;
}

std::vector<PipelineAction> actions_of(const CompileRequest& r, int micro_batches) {
  std::vector<PipelineAction> actions = schedule_of(r, micro_batches)[static_cast<size_t>(r.position)];
  if (r.mode != Mode::train)
    std::erase_if(actions, [](const PipelineAction& action) { return action.phase == PipelineAction::backward; });
  return actions;
}

// Returns this rank's nodes of the step, in order.
Graph build_step(const CompileRequest& r, const Log& log) {
  std::vector<Network> networks;
  if (r.mode == Mode::train) {
    networks = build_micro_batches(r, log);
  } else {
    networks.push_back(build_network(r, r.local_batch, log));
    if (r.stages) networks[0].stages = r.stages->assign(networks[0].graph);
  }
  const bool pauses = r.form.part == StepForm::passes;
  return unroll(networks, actions_of(r, static_cast<int>(networks.size())), r.position, r.positions, pauses);
}

// Returns the part of the model that this rank of a channel group holds.
Graph own_model(const CompileRequest& r) {
  return r.channel_split ? r.channel_split->apply(r.model, r.channel_rank) : r.model;
}

Graph build_idle(const CompileRequest& r) {
  Graph graph = idle_graph(own_model(r), r.own_trainable);
  if (r.form.part == StepForm::passes)
    graph.nodes().insert(graph.nodes().begin(), Node{&pause_op, "forward", {}, {}, {}});
  return graph;
}

OptimizerStep optimizer_step_of(const CompileRequest& r) {
  OptimizerStep step;
  step.optimizer = r.spec.optimizer;
  step.slots = r.spec.slots();
  if (r.spec.average_decay > 0) step.slots.pop_back();  // the node of the averages keeps it
  step.rows = static_cast<int64_t>(r.spec.groups.size()) + 1;
  step.conditioning = r.spec.conditioning;
  step.average_decay = r.spec.average_decay;
  step.groups = r.groups;
  step.counted = r.counted_gradients;
  step.split_norms = r.split_norms;
  return step;
}

}  // namespace

Graph build_graph(const CompileRequest& r, const Log& log) {
  const bool trains = r.mode == Mode::train, has_passes = r.form.part != StepForm::update;
  Graph graph;
  PassManager passes(graph, r, log);
  if (!has_passes)
    passes.run("update", [&](Graph& g) { g = update_graph(own_model(r), r.own_trainable); });
  else if (r.local_batch > 0 || (trains && r.spec.syncs_statistics))
    passes.run("unroll", [&](Graph& g) { g = build_step(r, log); });
  else if (trains)
    passes.run("idle", [&](Graph& g) { g = build_idle(r); });
  if (trains && has_passes) {
    if (r.ranks > 1) passes.run("data_parallel", [&](Graph& g) { insert_all_reduces(g, r.buckets); });
    if (r.ranks > 1 && r.spec.compresses_gradients) passes.run("compress_gradients", compress_gradients);
  }
  if (trains && r.form.part != StepForm::passes) {
    passes.run("optimizer", [&](Graph& g) { append_optimizer(g, optimizer_step_of(r)); });
    if (r.spec.shards_optimizer) passes.run("shard_optimizer", [&](Graph& g) { insert_all_gathers(g, r.buckets); });
  }
  if (r.results.places > 0 && has_passes && !r.form.has_own_loss)
    passes.run("batch_results", [&](Graph& g) { insert_batch_results(g, r.results); });
  if (r.local_batch > 0 && has_passes) {
    if (trains && r.spec.fuse) {
      // If few activations are kept, the sum is kept instead of its terms.
      if (!r.spec.recompute.is_on()) passes.run("fuse_adds", fuse_adds);
      passes.run("zero_biases", zero_biases);
      passes.run("share_sums", share_sums);
      passes.run("absorb_biases", absorb_biases);
    }
    // With recompute, each copy of a cast stays near its reader and need not be kept. With late
    // updates, one node would wait for all of them.
    if (r.spec.compute != DType::f32 && r.spec.fuse && !r.spec.recompute.is_on() && !r.spec.updates_late)
      passes.run("fuse_casts", fuse_casts);
    if (trains && r.runs_beside && std::isfinite(r.spec.least_beside))
      passes.run("run_beside", [&](Graph& g) { run_beside(g, r.spec.least_beside); });
    passes.run("dead_code", remove_dead_code);
  }
  if (!r.sum_order.empty()) passes.run("delay_updates", [&](Graph& g) { delay_updates(g, r.sum_order); });
  return graph;
}

namespace {

// Fuses nodes as the device's kernels allow.
void fuse_on_device(Graph& graph, const CompileRequest& r, Device& device, const Log& log) {
  PassManager passes(graph, r, log);
  passes.run("fuse_loss", [&](Graph& g) {
    fuse_loss(g, [&](const Graph& of, const Node& linear) { return device.fuses_loss(of, linear); });
  });
  passes.run("plain_pools", plain_pools);
  passes.run("fuse_sums", [&](Graph& g) {
    fuse_sums(g, {.rows = [&](const Graph& of, const Node& node) { return device.rows_of_sums(of, node); },
                  .has_mask = [&](const Graph& of, const Node& node) { return device.has_relu_mask(of, node); }});
  });
  passes.run("fuse_norms", [&](Graph& g) {
    fuse_norms(g, [&](const Graph& of, const Node& conv2d) { return device.normalizes_input(of, conv2d); });
  });
  passes.run("close_gaps", [&](Graph& g) {
    close_gaps(g, [&](const Graph& of, const Node& node, int64_t stride) {
      return device.adds_without_gaps(of, node, stride);
    });
  });
  const auto rounds = [&](const Graph& of, const Node& node) {
    r.interruption.check(kCompiling);
    std::vector<LogLine> notes;
    const bool is_rounded = device.rounds_gradient(of, node, notes);
    for (const LogLine& note : notes) log.write(LogTopic::plan, note.level, note.text);
    return is_rounded;
  };
  // Sums over ranks and late updates begin with the first gradients.
  if (r.ranks == 1 && !r.spec.updates_late && r.form.part == StepForm::whole)
    passes.run("fuse_widening", [&](Graph& g) { fuse_widening(g, rounds); });
  // With a sharded optimizer, a rank receives most parameters from others.
  if (device.keeps_copies() && !r.spec.shards_optimizer && !r.spec.updates_late && r.form.part == StepForm::whole)
    passes.run("keep_copies", keep_copies);
}

}  // namespace

Plan compile(const CompileRequest& request, Device& device, StateTable& state, const Log& log) {
  CompileRequest r = request;
  r.fuses_pool = [&](const Graph& of, const Node& conv2d, const Node& pool) {
    return device.fuses_pool(of, conv2d, pool);
  };
  Graph graph = build_graph(r, log);
  if (r.mode == Mode::train && r.spec.fuse) fuse_on_device(graph, r, device, log);
  Plan plan = lower(graph, device, state, r.interruption, log);
  plan.compresses_gradients = r.spec.compresses_gradients;
  plan.is_late = !r.sum_order.empty();
  static constexpr const char* kModes[] = {"train", "evaluate", "predict"};
  plan.name = text(kModes[static_cast<int>(r.mode)], " batch ", r.local_batch,
                   r.global_batch > 0 ? text(" of ", r.global_batch) : "", " on ", device.id());
  if (r.form.part == StepForm::passes) plan.name += ", in pieces";
  if (r.form.part == StepForm::update) plan.name = text("update on ", device.id());
  return plan;
}

}  // namespace troika
