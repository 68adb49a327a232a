// `troika plan`: a table of what a training step takes on each mesh of devices, which need not
// exist.
#include <iostream>
#include <memory>

#include "cli/auto_mesh.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/mesh.h"
#include "cli/optimizer.h"
#include "cli/precision.h"
#include "cli/recompute.h"
#include "cli/replication.h"
#include "cli/scale_plan.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

struct PlanOptions {
  std::string model, precision = "f32", layer_schedule = "1f1b";
  OptimizerOptions optimizer;
  ReplicationOptions replication;
  bool cpu = false;
  RecomputeOptions recompute;
  ScaleOptions scale;
  std::string link = "450";
  int devices = 1, batch = 256, micro_batches = 1, layer_chunks = 1, size = 0;
  int64_t bucket_bytes = 1048576, memory = 141000000000;
  double tflops = 0, memory_bandwidth = 4800, latency = 2;
};

// Returns three digits and a unit: 2.75 GB.
std::string scaled(double number, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (number >= 999.5 && unit + 1 < units.size()) number /= 1000, ++unit;
  const int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  return formatted("%.*f %s", unit == 0 ? 0 : digits, number, units[unit]);
}

std::string as_bytes(int64_t bytes) { return scaled(static_cast<double>(bytes), {"B", "kB", "MB", "GB", "TB"}); }
std::string as_time(double seconds) { return scaled(1e9 * seconds, {"ns", "us", "ms", "s"}); }

// Reads the options of the step to plan. `groups` is memory for the result.
troika_trainer_options read_step(PlanOptions& options, ParameterGroups& groups) {
  if (options.micro_batches < 1) refuse_value("--micro-batches", options.micro_batches, "at least 1");
  if (options.layer_chunks < 1) refuse_value("--layer-chunks", options.layer_chunks, "at least 1");
  if (options.bucket_bytes < 0) refuse_value("--bucket-bytes", options.bucket_bytes, "at least 0");
  complete_optimizer(options.optimizer);
  check_recompute(options.recompute);

  troika_trainer_options out = TROIKA_TRAINER_OPTIONS_INIT;
  out.precision = parse_precision(options.precision);
  out.micro_batches = options.micro_batches;
  out.bucket_bytes = options.bucket_bytes;
  out.layer_schedule = parse_layer_schedule(options.layer_schedule);
  out.layer_chunks = options.layer_chunks;
  if (out.layer_chunks > 1 && out.layer_schedule != TROIKA_LAYER_SCHEDULE_INTERLEAVED)
    refuse_value("--layer-chunks", options.layer_chunks, "1, or --layer-schedule interleaved");
  set_optimizer(options.optimizer, out, groups);
  set_replication(options.replication, out);
  set_recompute(options.recompute, out);
  return out;
}

// `step` must live as long as the result.
troika_plan_options read_options(const PlanOptions& options, const troika_trainer_options& step) {
  auto need = [](const char* name, double value, double least) {
    if (!(value >= least && value < 1e15)) refuse_value(name, value, formatted("a number of at least %g", least));
  };
  if (options.devices < 1 || options.devices > kMostDevices)
    refuse_value("--devices", options.devices, formatted("1 to %d", kMostDevices));
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  if (options.size < 0) refuse_value("--size", options.size, "at least 1, or 0 for the model's default");
  if (options.size > kMaxImageSize) refuse_value("--size", options.size, formatted("at most %d", kMaxImageSize));
  if (options.memory < 1) refuse_value("--memory", options.memory, "at least 1");
  need("--tflops", options.tflops, 0);
  need("--memory-bandwidth", options.memory_bandwidth, 1e-3);
  need("--latency", options.latency, 0);
  check_scale(options.scale);

  troika_plan_options out = TROIKA_PLAN_OPTIONS_INIT;
  out.devices = options.devices;
  out.batch = options.batch;
  out.trainer = &step;
  out.memory_bytes = options.memory;
  if (options.tflops > 0) out.operations_per_second = 1e12 * options.tflops;
  out.memory_bandwidth = 1e9 * options.memory_bandwidth;
  out.link_bandwidth = parse_rate("--link", options.link);
  out.link_latency = 1e-6 * options.latency;
  return out;
}

// Every mesh of the devices: meshes with more shares of the batch first, then those with more
// stages.
std::vector<troika_mesh> meshes_of(int32_t devices) {
  std::vector<troika_mesh> meshes;
  for (int32_t data = devices; data > 0; --data)
    for (int32_t layer = devices / data; devices % data == 0 && layer > 0; --layer)
      if (devices / data % layer == 0) meshes.push_back({data, layer, devices / data / layer, 0});
  return meshes;
}

std::string row(const std::string& mesh, const std::vector<std::string>& cells, const std::string& note) {
  std::string line = formatted("%-10s", mesh.c_str());
  for (const std::string& cell : cells) line += formatted(" %11s", cell.c_str());
  if (!note.empty()) line += "  " + note;
  return line + '\n';
}

std::string row_of(const troika_plan_result& plan, const troika_plan_result* chosen) {
  const bool is_chosen = chosen && name_of(chosen->mesh) == name_of(plan.mesh);
  return row(name_of(plan.mesh),
             {as_bytes(plan.parameter_bytes), as_bytes(plan.gradient_bytes), as_bytes(plan.optimizer_bytes),
              as_bytes(plan.activation_bytes), as_bytes(plan.total_bytes), as_bytes(plan.sent_bytes),
              formatted("%.1f %%", 100 * plan.bubble), as_time(plan.seconds)},
             is_chosen   ? "<- fastest that fits"
             : plan.fits ? ""
                         : "does not fit");
}

// Plans for CPU devices of this machine, as --mesh auto does. Figures that are given stay.
void plan_for_cpus(const Command& command, const Context& context, troika_plan_options& plan) {
  const troika_plan_options given = plan;
  const std::vector<troika_device> devices(static_cast<size_t>(plan.devices), troika_device{TROIKA_DEVICE_CPU, 0});
  set_machine(context, 0, devices, plan);
  if (command.was_given("--memory")) plan.memory_bytes = given.memory_bytes;
  if (command.was_given("--tflops")) plan.operations_per_second = given.operations_per_second;
  if (command.was_given("--memory-bandwidth")) plan.memory_bandwidth = given.memory_bandwidth;
  if (command.was_given("--link")) plan.link_bandwidth = given.link_bandwidth;
  if (command.was_given("--latency")) plan.link_latency = given.link_latency;
}

int plan(const Command& command, PlanOptions& options) {
  ParameterGroups groups;
  const troika_trainer_options step = read_step(options, groups);
  troika_plan_options plan_options = read_options(options, step);
  const Context context = create_context();
  if (options.cpu && options.scale.nodes > 0)
    throw Failure("--cpu plans for this machine, whose devices share its cores; leave out --nodes");
  if (options.cpu) plan_for_cpus(command, context, plan_options);
  troika_model_options model_options = TROIKA_MODEL_OPTIONS_INIT;
  if (options.size > 0) model_options.input_height = model_options.input_width = options.size;
  const Model model = create_model(context, options.model, model_options);

  if (options.scale.nodes > 0) {
    std::cout << formatted("%s, batch %d in %s, %d %s\n", options.model.c_str(), options.batch,
                           options.precision.c_str(), options.scale.nodes, options.scale.nodes == 1 ? "node" : "nodes");
    print_scaling(model, plan_options, options.scale);
    return 0;
  }
  troika_plan_result chosen = TROIKA_PLAN_RESULT_INIT;
  troika_error none_fits;
  const bool fits = troika_plan_choose(model.get(), &plan_options, &chosen, &none_fits) == TROIKA_OK;
  if (!fits && none_fits.status != TROIKA_ERROR_NOT_FOUND) check(none_fits.status, none_fits);

  std::cout << formatted("%s, batch %d in %s, %d %s of %s; bytes of the device that needs most in all\n",
                         options.model.c_str(), options.batch, options.precision.c_str(), options.devices,
                         options.devices == 1 ? "device" : "devices", as_bytes(plan_options.memory_bytes).c_str());
  std::cout << row("mesh", {"parameters", "gradients", "optimizer", "activations", "total", "sent", "bubble", "time"},
                   "");
  for (const troika_mesh& mesh : meshes_of(plan_options.devices)) {
    troika_plan_result found = TROIKA_PLAN_RESULT_INIT;
    troika_error error;
    const troika_status status = troika_plan_estimate(model.get(), &plan_options, &mesh, &found, &error);
    if (status == TROIKA_ERROR_INVALID_ARGUMENT || status == TROIKA_ERROR_UNSUPPORTED ||
        status == TROIKA_ERROR_OUT_OF_MEMORY) {  // nothing fits the activation budget
      std::cout << row(name_of(mesh), {}, in_words_of_tool(error.message));
      continue;
    }
    check(status, error);
    std::cout << row_of(found, fits ? &chosen : nullptr);
  }
  if (!fits) throw Failure(in_words_of_tool(none_fits.message));
  return 0;
}

}  // namespace

void add_plan_command(CommandLine& line) {
  const Command command = line.add_command(
      "plan", "Estimates memory, traffic and time of a training step on every mesh of devices, with none of them");
  auto options = std::make_shared<PlanOptions>();
  command.option("--model", options->model, kModelHelp);
  command.require("--model");
  command.option("--devices", options->devices, "Number of devices to plan for");
  command.flag("--cpu", options->cpu,
               "Plans for CPU devices of this machine: their cores, and the memory that their kernels need");
  command.bytes("--memory", options->memory, "Memory of each device, such as 80GB");
  command.option("--batch", options->batch, "Samples per step, over all devices together");
  command.option("--precision", options->precision, kPrecisionHelp);
  add_optimizer_options(command, options->optimizer);
  command.option("--micro-batches", options->micro_batches,
                 "Cuts each device's samples into so many parts, computed one after another");
  command.option("--layer-schedule", options->layer_schedule,
                 "Schedule of a split by layer: gpipe, 1f1b or interleaved");
  command.option("--layer-chunks", options->layer_chunks, "Stages per device, with the interleaved schedule");
  add_recompute_options(command, options->recompute);
  add_replication_options(command, options->replication);
  command.option("--size", options->size, "Image size; 0: the model's default", "SIZE");
  command.option("--tflops", options->tflops, "10^12 operations per second of a device; 0: an H200's in this precision",
                 "T");
  command.option("--memory-bandwidth", options->memory_bandwidth, "Bandwidth of a device's memory", "GB/S");
  command.option("--link,--intra", options->link,
                 "Rate at which a device sends within its node, while it receives as much, such as 450GB/s", "GB/S");
  command.option("--latency", options->latency, "Microseconds until a message's first byte arrives", "US");
  command.bytes("--bucket-bytes", options->bucket_bytes, "Gradients are all-reduced in buckets of about this size");
  add_scale_options(command, options->scale);
  command.action([command, options] { return plan(command, *options); });
}

}  // namespace troika::cli
