// The recipe, to be read from top to bottom.
#include "plan/compile.h"

#include <chrono>

#include "core/environment.h"
#include "core/text.h"
#include "plan/recompute_choice.h"

namespace troika {
namespace {

// Runs passes one by one; after each the graph is verified, timed, and where TROIKA_DUMP names it, printed to the log.
class PassManager {
 public:
  PassManager(Graph& graph, const Log& log) : graph_(graph), log_(log), dumped_(dumped_pass()) {}

  template <typename Pass>
  void run(const char* name, Pass&& pass) {
    const auto begin = std::chrono::steady_clock::now();
    pass(graph_);
    verify(graph_);
    if (log_.wants(LogLevel::debug)) {
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      log_.write(LogLevel::debug, text("pass ", name, ": ", graph_.nodes().size(), " nodes, ", took.count(), " ms"));
    }
    if (dumped_ == name) dump();
  }

 private:
  void dump() const {
    std::istringstream lines(print_graph(graph_));
    for (std::string line; std::getline(lines, line);) log_.write(LogLevel::error, line);  // asked for: at any level
  }

  Graph& graph_;
  const Log& log_;
  const std::string dumped_;  // the name of a pass
};

}  // namespace

Graph build_graph(const CompileRequest& r, const Log& log) {
  const bool trains = r.mode == Mode::train;
  Graph graph = r.model;
  PassManager passes(graph, log);
  auto update = [&](Graph& g) { append_sgd(g, r.sgd, r.groups, r.rates); };
  auto reduce = [&](Graph& g) { insert_all_reduces(g, r.buckets); };

  if (trains && r.local_batch == 0) {
    passes.run("idle", [&](Graph& g) { g = idle_graph(r.model, r.trainable); });
    passes.run("data_parallel", reduce);
    passes.run("sgd", update);
    return graph;
  }
  passes.run("rebatch", [&](Graph& g) { g = rebatch(g, r.local_batch); });
  if (!trains) passes.run("inference", to_inference);
  if (r.mode != Mode::predict)
    passes.run("loss", [&](Graph& g) {
      append_loss(g, r.loss, r.is_mean ? 1.0 / static_cast<double>(r.global_batch) : 1.0, trains && r.sgd.is_scaled);
    });
  if (r.fuse) {
    passes.run("fuse", fuse);
    passes.run("crop_unread", crop_unread);
  }
  if (r.compute != DType::f32) passes.run("mixed_precision", [&](Graph& g) { mixed_precision(g, r.compute); });
  if (trains) {
    passes.run("autodiff", [&](Graph& g) { autodiff(g, r.trainable); });
    if (r.recompute.is_on()) passes.run("recompute", [&](Graph& g) { recompute(g, choose_dropped(g, r.recompute)); });
    passes.run("data_parallel", [&](Graph& g) {
      set_sample_offset(g, r.sample_offset);
      if (r.ranks > 1) reduce(g);
    });
    passes.run("sgd", update);
  }
  if (r.allow_tf32) passes.run("allow_tf32", allow_tf32);
  passes.run("dead_code", remove_dead_code);
  return graph;
}

Plan compile(const CompileRequest& r, Device& device, StateTable& state, const Log& log) {
  Plan plan = lower(build_graph(r, log), device, state);
  static constexpr const char* kModes[] = {"train", "evaluate", "predict"};
  plan.name = text(kModes[static_cast<int>(r.mode)], " batch ", r.local_batch,
                   r.global_batch > 0 ? text(" of ", r.global_batch) : "", " on ", device.id());
  return plan;
}

}  // namespace troika
