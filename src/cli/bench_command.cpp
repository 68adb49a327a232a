// `troika bench`: only the training step, on synthetic batches in memory: the host's, or the GPUs'
// if all devices are GPUs.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "cli/auto_mesh.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/device_list.h"
#include "cli/job.h"
#include "cli/measured_rates.h"
#include "cli/mesh.h"
#include "cli/optimizer.h"
#include "cli/precision.h"
#include "cli/processes.h"
#include "cli/profile.h"
#include "cli/recompute.h"
#include "cli/replication.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr int kBatches = 4;      // different batches, taken in turn
constexpr int kFirstSteps = 3;   // compile, record if the device can, warm up
constexpr int kTrialSteps = 24;  // in 20 of them a GPU tries two forms of its recording

struct BenchOptions {
  std::string model, devices = "cpu:0", precision = "f32";
  int batch = 256, steps = 10, windows = 5, size = 0, threads = 0, processes = 1;
  OptimizerOptions optimizer;
  bool profile = false, in_turn = false;
  std::string trace;  // file for the trace of a step; empty: none
  int epochs = 0;     // above 0: so many epochs of `data`, after the windows
  DataOptions data;   // only its directory
  MeshOptions mesh;
  RecomputeOptions recompute;
  ReplicationOptions replication;
};

// Images of the model's default input, or of --size.
struct ImageSpec {
  int64_t dims[3];
  int32_t classes;
};

ImageSpec image_spec(const Context& context, const BenchOptions& options) {
  const Model model = create_model(context, options.model, TROIKA_MODEL_OPTIONS_INIT);
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  if (info.input_rank != 3) throw Failure("bench measures models of images, '" + options.model + "' reads tokens");
  const int64_t height = options.size > 0 ? options.size : info.input_dims[1];
  const int64_t width = options.size > 0 ? options.size : info.input_dims[2];
  return {{info.input_dims[0], height, width}, static_cast<int32_t>(info.output_dims[0])};
}

Loader create_loader(const Context& context, const BenchOptions& options, const ImageSpec& spec, int batches) {
  Samples samples;
  call(troika_dataset_create_synthetic, context.get(), spec.dims, 3, int64_t{options.batch} * batches, spec.classes,
       uint64_t{1}, samples.dataset.out());
  return create_loader(samples, {.batch = options.batch});
}

// The caller's own batches, since a loader lends only one at a time: the samples that the trainer's
// devices need.
std::vector<Batch> create_batches(const Context& context, const BenchOptions& options, const ImageSpec& spec,
                                  const Trainer& trainer, int count) {
  const Loader loader = create_loader(context, options, spec, count);
  call(troika_trainer_divide_loader, trainer.get(), loader.get());
  const troika_device host{TROIKA_DEVICE_CPU, 0};
  std::vector<Batch> batches(static_cast<size_t>(count));
  for (Batch& batch : batches) {
    troika_batch lent = nullptr;
    call(troika_loader_next, loader.get(), &lent);
    troika_batch_info info = TROIKA_BATCH_INFO_INIT;
    call(troika_batch_describe, lent, &info);
    Tensor inputs, labels;
    call(troika_tensor_create, context.get(), host, int32_t{TROIKA_DTYPE_F32}, info.dims, info.rank, info.inputs,
         inputs.out());
    call(troika_tensor_create, context.get(), host, int32_t{TROIKA_DTYPE_I32}, info.dims, 1, info.labels, labels.out());
    call(troika_batch_create, inputs.get(), labels.get(), batch.out());
  }
  return batches;
}

// Steps on the batches in turn, and waits for the last step.
void run_steps(const Trainer& trainer, const std::vector<Batch>& batches, int steps) {
  troika_step_result last = TROIKA_STEP_RESULT_INIT;
  for (int step = 0; step < steps; ++step)
    call(troika_trainer_step, trainer.get(), batches[static_cast<size_t>(step) % batches.size()].get(),
         step + 1 < steps ? nullptr : &last);
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  return seconds.count();
}

// In images per second.
struct Rates {
  double median, least, most;
};

// Measures `windows` runs of work on `images` images each.
Rates measure(int windows, double images, const std::function<void()>& work) {
  std::vector<double> rates;
  for (int i = 0; i < windows; ++i) rates.push_back(images / seconds_of(work));
  std::sort(rates.begin(), rates.end());
  const size_t middle = rates.size() / 2;
  return {rates.size() % 2 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2, rates.front(), rates.back()};
}

void train_epoch(const Trainer& trainer, const Loader& loader) {
  call(troika_trainer_train_epoch, trainer.get(), loader.get(), static_cast<troika_metrics*>(nullptr));
}

// Opens real samples of the model's size, before anything is measured.
Samples open_real_samples(const Context& context, const BenchOptions& options, const ImageSpec& spec) {
  if (spec.dims[0] != 1)
    throw Failure("--epochs needs a model of images with 1 channel, " + options.model + " has " +
                  std::to_string(spec.dims[0]));
  DataOptions data = options.data;
  if (options.size > 0) data.resize = options.size;
  return open_samples(context, data, Split::train);
}

// Real epochs, shuffled, compared with the bare steps.
std::string measure_epochs(const Samples& samples, const Trainer& trainer, const BenchOptions& options, double bare) {
  const Loader loader = create_loader(samples, {.batch = options.batch, .shuffle = true});
  train_epoch(trainer, loader);  // copies the samples to the devices, and compiles for the last batch
  const Rates rates =
      measure(options.epochs, static_cast<double>(samples.info.n), [&] { train_epoch(trainer, loader); });
  return formatted("epochs of %lld images: %.0f img/s (%.0f-%.0f), %+.1f %% time an image against bare steps\n",
                   static_cast<long long>(samples.info.n), rates.median, rates.least, rates.most,
                   100 * (bare / rates.median - 1));
}

// Without the samples.
double total_mib(const troika_memory_info& memory) {
  return static_cast<double>(memory.arena_bytes + memory.parameter_bytes + memory.gradient_bytes +
                             memory.optimizer_bytes) /
         (1 << 20);
}

// Returns the rates of each device, each measured once. Operations on tensors have no TF32: tensor
// cores multiply it half as fast as bf16, and CPUs compute in f32.
std::vector<MeasuredRates> rates_of(const Context& context, const std::vector<troika_device>& devices,
                                    int32_t precision) {
  std::map<int32_t, MeasuredRates> of_kinds;
  std::vector<MeasuredRates> rates;
  for (const troika_device device : devices) {
    const auto [found, is_new] = of_kinds.try_emplace(device.kind);
    if (is_new) {
      const bool is_tf32 = precision == TROIKA_PRECISION_TF32 && device.kind == TROIKA_DEVICE_CUDA;
      found->second = measure_rates(context, device,
                                    precision == TROIKA_PRECISION_BF16 || is_tf32 ? TROIKA_DTYPE_BF16
                                    : precision == TROIKA_PRECISION_F16           ? TROIKA_DTYPE_F16
                                                                                  : TROIKA_DTYPE_F32);
      if (is_tf32) found->second.operations_per_second /= 2;
    }
    rates.push_back(found->second);
  }
  return rates;
}

// A trainer that collects traces runs as many steps as a window has, and waits for each.
// `step_seconds`: of a step without a trace.
std::string profile_of(const Context& context, const Trainer& trainer, const std::vector<troika_device>& devices,
                       const std::vector<Batch>& batches, const BenchOptions& options, double step_seconds) {
  run_steps(trainer, batches, kFirstSteps);
  Profile profile;
  for (int step = 0; step < options.steps; ++step) {
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    call(troika_trainer_step, trainer.get(), batches[static_cast<size_t>(step) % batches.size()].get(), &result);
    profile.add(trainer);
  }
  return profile.table(rates_of(context, devices, parse_precision(options.precision)), step_seconds);
}

// The lines of the trainer's plan that say what its recordings do to be faster.
std::string recordings_of(const Trainer& trainer, int64_t batch) {
  int64_t size = 0;
  call(troika_trainer_explain, trainer.get(), batch, nullptr, int64_t{0}, &size);
  std::string plan(static_cast<size_t>(size), '\0');
  call(troika_trainer_explain, trainer.get(), batch, plan.data(), size, &size);
  std::istringstream lines(plan);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  recorded ")) found += line.substr(2) + '\n';
  return found;
}

int bench(const Command& command, BenchOptions& options) {
  if (options.processes != 1) return run_in_processes(command, options.processes);
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  if (options.steps < 1) refuse_value("--steps", options.steps, "at least 1");
  if (options.epochs < 0) refuse_value("--epochs", options.epochs, "at least 0");
  if (options.windows < 1) refuse_value("--windows", options.windows, "at least 1");
  complete_optimizer(options.optimizer);
  if (options.size < 0) refuse_value("--size", options.size, "at least 1, or 0 for the model's default");
  if (options.size > kMaxImageSize) refuse_value("--size", options.size, formatted("at most %d", kMaxImageSize));
  check_recompute(options.recompute);
  const int32_t precision = parse_precision(options.precision);
  const Job job;
  if (!job.is_alone() && (options.epochs > 0 || options.profile))
    throw Failure(
        formatted("%s is for one process; this job has %d", options.profile ? "--profile" : "--epochs", job.size()));
  const Context context = create_context(threads_of_process(options.threads));
  const std::vector<troika_device> devices = parse_devices(context, "--devices", options.devices);
  if (job.is_alone()) check_mesh(options.mesh, devices.size());
  const ImageSpec spec = image_spec(context, options);
  troika_model_options model_options = TROIKA_MODEL_OPTIONS_INIT;
  model_options.classes = spec.classes;
  model_options.input_channels = spec.dims[0];
  model_options.input_height = spec.dims[1];
  model_options.input_width = spec.dims[2];
  const Model model = create_model(context, options.model, model_options);
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision = precision;
  trainer_options.collect_trace = !options.trace.empty();
  trainer_options.launches_in_turn = options.in_turn;
  trainer_options.group = job.group();
  set_mesh(options.mesh, trainer_options);
  std::vector<double> shares;
  if (options.mesh.measures_shares())
    throw Failure("--shares is auto, bench measures given ones; give numbers, such as 3,1");
  set_shares(options.mesh, shares, trainer_options);
  set_recompute(options.recompute, trainer_options);
  set_replication(options.replication, trainer_options);
  ParameterGroups groups;
  set_optimizer(options.optimizer, trainer_options, groups);
  settle_mesh(options.mesh, context, options.threads, model, devices, options.batch, trainer_options);
  const bool is_on_gpus = std::all_of(devices.begin(), devices.end(),
                                      [](const troika_device& device) { return device.kind == TROIKA_DEVICE_CUDA; });
  Samples real;
  if (options.epochs > 0) real = open_real_samples(context, options, spec);
  Trainer trainer;
  double ready = seconds_of([&] {
    call(troika_model_attach, model.get(), devices.data(), static_cast<int32_t>(devices.size()), &trainer_options,
         trainer.out());
  });
  const std::vector<Batch> batches = create_batches(context, options, spec, trainer, is_on_gpus ? 1 : kBatches);
  ready += seconds_of([&] { run_steps(trainer, batches, kFirstSteps); });
  Loader loader;  // one epoch per window, with samples that are stored on the GPUs
  std::function<void()> window = [&] { run_steps(trainer, batches, options.steps); };
  if (is_on_gpus) {
    loader = create_loader(context, options, spec, options.steps);
    window = [&] { train_epoch(trainer, loader); };
    run_steps(trainer, batches, kTrialSteps);
    window();
  }
  const Rates rates = measure(options.windows, static_cast<double>(options.batch) * options.steps, window);
  if (!options.trace.empty()) {
    run_steps(trainer, batches, 1);
    call(troika_trainer_save_trace, trainer.get(), options.trace.c_str());
  }

  if (!job.leads()) return 0;
  const std::string mesh = options.mesh.mesh.empty() ? "" : " as " + options.mesh.mesh;
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  call(troika_trainer_memory, trainer.get(), 0, &memory);
  const std::string samples =
      !is_on_gpus               ? ""
      : memory.sample_bytes > 0 ? formatted(", samples %.1f MiB", static_cast<double>(memory.sample_bytes) / (1 << 20))
                                : ", samples from the host";
  const std::string others = job.is_alone() ? "" : formatted(" in each of %d processes", job.size());
  std::cout << formatted(
      "%s batch %d %s %s: %.0f img/s (%.0f-%.0f), %.2f ms/step, arena %.1f MiB, memory %.1f MiB, ready in %.2f s%s\n",
      options.model.c_str(), options.batch, options.precision.c_str(),
      (format_devices(devices) + others + mesh).c_str(), rates.median, rates.least, rates.most,
      1000.0 * options.batch / rates.median, static_cast<double>(memory.arena_bytes) / (1 << 20), total_mib(memory),
      ready, samples.c_str());
  if (options.epochs > 0) std::cout << measure_epochs(real, trainer, options, rates.median);
  if (!options.profile) return 0;
  const std::string recordings = recordings_of(trainer, options.batch);
  trainer = Trainer();
  trainer_options.collect_trace = 1;
  call(troika_model_attach, model.get(), devices.data(), static_cast<int32_t>(devices.size()), &trainer_options,
       trainer.out());
  std::cout << profile_of(context, trainer, devices, batches, options, options.batch / rates.median) << recordings;
  return 0;
}

}  // namespace

void add_bench_command(CommandLine& line) {
  const Command command = line.add_command("bench", "Measures the training step, on synthetic batches in memory");
  auto options = std::make_shared<BenchOptions>();
  command.option("--model", options->model, kModelHelp);
  command.require("--model");
  command.option("--batch", options->batch, "Samples per step, over all devices together");
  command.option("--devices", options->devices, "The devices to measure, such as cpu:0,cpu:1");
  command.option("--precision", options->precision, kPrecisionHelp);
  options->optimizer.learning_rate = 0.01;  // the speed does not depend on it, but the numbers must stay finite
  add_optimizer_options(command, options->optimizer);
  command.option("--steps", options->steps, "Steps in a window");
  command.option("--windows", options->windows, "Windows; the median is reported, and the range");
  command.option("--epochs", options->epochs, "Then so many epochs of --data, shuffled, compared with the bare steps",
                 "N");
  command.option("--data", options->data.directory, "Folder with the files of MNIST or CIFAR", "DIR");
  command.need("--data", "--epochs");
  command.option("--size", options->size, "Image size; 0: the model's default", "SIZE");
  add_mesh_options(command, options->mesh);
  add_recompute_options(command, options->recompute);
  add_replication_options(command, options->replication);
  command.flag("--in-turn", options->in_turn,
               "On GPUs, no launch runs concurrently with another: shows what overlapping gradients of weights brings");
  command.flag("--profile", options->profile,
               "Then each launch's best time in a window of steps, with traces and without CUDA graphs");
  command.option("--trace", options->trace,
                 "Then writes the trace of one more step, for ui.perfetto.dev; GPUs use no CUDA graphs", "FILE");
  command.exclude("--trace", "--profile");
  command.option("--threads", options->threads, "CPU threads of all CPU devices together; 0: every core");
  add_processes_option(command, options->processes);
  command.action([command, options] { return bench(command, *options); });
}

}  // namespace troika::cli
