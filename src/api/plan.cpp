// The C functions of troika/plan.h.
#include "plan/estimate.h"

#include <troika/plan.h>

#include <memory>
#include <optional>

#include "api/field_check.h"
#include "api/model_handle.h"
#include "api/structs.h"
#include "api/trainer_fields.h"
#include "plan/compile.h"
#include "runtime/worker.h"
#include "train/context.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr int kMostDevices = 1 << 12;

// Operations per second without sparsity, by NVIDIA's data sheet of the H200 SXM.
double operations_of_h200(int32_t precision) {
  switch (precision) {
    case TROIKA_PRECISION_F32: return 67e12;
    case TROIKA_PRECISION_TF32: return 494e12;
    default: return 989e12;
  }
}

struct Question {
  PlannedStep step;
  Machine machine;
  bool is_for_cpus = false;  // of this machine
};

// Compiles steps for a CPU device of this machine that has its share of the context's threads.
class CpuArena {
 public:
  CpuArena(const Context& context, int devices)
      : device_(context.backends().open({DeviceKind::cpu, 0}, context.cpus().of_device(0, devices))),
        worker_(device_) {}

  size_t bytes(const CompileRequest& request, StateTable& state) {
    size_t bytes = 0;
    worker_.run([&] { bytes = compile(request, *device_, state, Log()).arena_bytes; });
    return bytes;
  }

 private:
  const std::shared_ptr<Device> device_;
  Worker worker_;
};

// The options of a trainer that the fields of plan options describe, if there is no `trainer`.
troika_trainer_options trainer_options_of(const troika_plan_options& o) {
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.loss = o.loss;
  options.precision = o.precision;
  options.momentum = o.momentum;
  options.micro_batches = o.micro_batches;
  options.layer_schedule = o.layer_schedule;
  options.layer_chunks = o.layer_chunks;
  options.logical_shards = o.logical_shards;
  options.recompute_segments = o.recompute_segments;
  options.recompute_layers = o.recompute_layers;
  options.activation_budget_bytes = o.activation_budget_bytes;
  options.shard_optimizer = o.shard_optimizer;
  options.gradient_compression = o.gradient_compression;
  options.max_gradient_norm = o.max_gradient_norm;
  return options;
}

Question read_plan_options(const troika_plan_options* given, const char* function) {
  const troika_plan_options o = read_options(given);
  const FieldCheck check(text(function, ": options."));
  constexpr double kLarge = 1e30;
  check.integer("devices", o.devices, 1, kMostDevices);
  check.integer("batch", o.batch, 1, int64_t{1} << 40);
  if (o.device_kind != 0) check.constant("device_kind", o.device_kind, {"TROIKA_DEVICE_CPU", "TROIKA_DEVICE_CUDA"});
  check.integer("memory_bytes", o.memory_bytes, 1, INT64_MAX);
  const double operations = o.operations_per_second == TROIKA_UNSET
                                ? operations_of_h200(o.trainer ? read_options(o.trainer).precision : o.precision)
                                : o.operations_per_second;
  check.real("operations_per_second", operations, 1, kLarge);
  check.real("memory_bandwidth", o.memory_bandwidth, 1, kLarge);
  check.real("link_bandwidth", o.link_bandwidth, 1, kLarge);
  check.real("link_latency", o.link_latency, 0, 1e9);
  check.integer("devices_per_node", o.devices_per_node, 0, kMostDevices);
  if (o.devices_per_node > 0 && o.devices % o.devices_per_node != 0)
    throw Error(Status::invalid_argument, text(function, ": options.devices is ", o.devices, ", need a multiple of ",
                                               o.devices_per_node, ", the devices per node"));
  check.integer("reserved", o.reserved, 0, 0);
  check.real("node_bandwidth", o.node_bandwidth, 1, kLarge);
  check.real("node_latency", o.node_latency, 0, 1e9);

  Question question;
  question.is_for_cpus = o.device_kind == TROIKA_DEVICE_CPU;
  PlannedStep& step = question.step;
  step.batch = o.batch;
  question.machine = {o.devices,          static_cast<size_t>(o.memory_bytes),
                      operations,         o.memory_bandwidth,
                      o.link_bandwidth,   o.link_latency,
                      o.devices_per_node, o.node_bandwidth,
                      o.node_latency};
  const troika_trainer_options own = trainer_options_of(o);
  static_cast<StepSpec&>(step) = o.trainer ? read_trainer_options(o.trainer, text(function, ": options.trainer->"), 0)
                                           : read_trainer_options(&own, text(function, ": options."), 0);
  return question;
}

// Reads a mesh. NULL is all devices sharing the batch; 0 in `layer` and `channel` is 1.
Mesh read_mesh(const troika_mesh* mesh, const char* function) {
  if (!mesh) return {};
  const FieldCheck check(text(function, ": "));
  check.integer("mesh->data", mesh->data, 0, kMostDevices);
  check.integer("mesh->layer", mesh->layer, 0, kMostDevices);
  check.integer("mesh->channel", mesh->channel, 0, kMostDevices);
  check.integer("mesh->reserved", mesh->reserved, 0, 0);
  return {mesh->data, std::max(mesh->layer, 1), std::max(mesh->channel, 1)};
}

troika_plan_result plan_of(const MeshEstimate& estimate, const Machine& machine) {
  const DeviceEstimate& fullest = estimate.fullest();
  troika_plan_result plan{};
  plan.fits = fullest.memory_bytes() <= machine.memory_bytes;
  plan.mesh = {estimate.mesh.data, estimate.mesh.layer, estimate.mesh.channel, 0};
  plan.parameter_bytes = static_cast<int64_t>(fullest.parameter_bytes);
  plan.gradient_bytes = static_cast<int64_t>(fullest.gradient_bytes);
  plan.optimizer_bytes = static_cast<int64_t>(fullest.optimizer_bytes);
  plan.activation_bytes = static_cast<int64_t>(fullest.activation_bytes);
  plan.total_bytes = static_cast<int64_t>(fullest.memory_bytes());
  plan.sent_bytes = static_cast<int64_t>(estimate.sent_bytes());
  plan.bubble = estimate.bubble;
  plan.seconds = estimate.seconds;
  return plan;
}

// Runs `estimate` with the model's graph and the caller's question, and writes its result.
template <typename Estimate>
troika_status answer(troika_model handle, const troika_plan_options* options, troika_plan_result* out_plan,
                     const char* function, troika_error* error, Estimate&& estimate) {
  return guard(error, [&] {
    const auto object = object_of(handle, function, "model");
    Model& model = *object->model;
    result_size(out_plan, function, "out_plan");
    Question question = read_plan_options(options, function);
    const Together together(model.busy(), function, "model");
    add_shared_names(question.step, *model.parameters());
    if (!model.is_complete())
      throw Error(Status::invalid_argument,
                  text("model '", model.name(), "': has no output yet; set it before planning"));
    std::optional<CpuArena> cpu;
    ArenaOf arena_of;
    if (question.is_for_cpus) {
      cpu.emplace(*object->context, question.machine.devices);
      arena_of = [&cpu](const CompileRequest& request, StateTable& state) { return cpu->bytes(request, state); };
    }
    write_result(out_plan, plan_of(estimate(model.graph(), question, arena_of), question.machine), function,
                 "out_plan");
  });
}

}  // namespace

troika_status troika_plan_estimate(troika_model model, const troika_plan_options* options, const troika_mesh* mesh,
                                   troika_plan_result* out_plan, troika_error* error) {
  constexpr const char* kName = "troika_plan_estimate";
  return answer(model, options, out_plan, kName, error,
                [&](const Graph& graph, const Question& q, const ArenaOf& arena_of) {
                  return estimate_mesh(graph, q.step, q.machine, read_mesh(mesh, kName), arena_of);
                });
}

troika_status troika_plan_choose(troika_model model, const troika_plan_options* options, troika_plan_result* out_plan,
                                 troika_error* error) {
  return answer(model, options, out_plan, "troika_plan_choose", error,
                [](const Graph& graph, const Question& q, const ArenaOf& arena_of) {
                  return choose_mesh(graph, q.step, q.machine, arena_of);
                });
}
