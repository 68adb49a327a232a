// Opens what a run needs, and checks that it fits together.
#include "cli/training_setup.h"

#include <algorithm>
#include <utility>

#include "cli/auto_mesh.h"
#include "cli/batch_parts.h"
#include "cli/command_line.h"
#include "cli/device_list.h"
#include "cli/measured_shares.h"
#include "cli/model_file.h"
#include "cli/precision.h"
#include "cli/text.h"
#include "cli/weights.h"

namespace troika::cli {
namespace {

// `groups`, `milestones` and `shares` are memory for the result.
troika_trainer_options trainer_options(const TrainOptions& options, int64_t steps_per_epoch, ParameterGroups& groups,
                                       std::vector<int64_t>& milestones, std::vector<double>& shares) {
  troika_trainer_options out = TROIKA_TRAINER_OPTIONS_INIT;
  out.precision = parse_precision(options.precision);
  out.label_smoothing = options.label_smoothing;
  set_optimizer(options.optimizer, out, groups);
  set_schedule(options.schedule, steps_per_epoch, out, milestones);
  out.bucket_bytes = options.bucket_bytes;
  set_mesh(options.mesh, out);
  set_shares(options.mesh, shares, out);
  set_recompute(options.recompute, out);
  set_replication(options.replication, out);
  out.collect_trace = !options.trace.empty();
  return out;
}

// Returns the one device to evaluate on; none: all of `devices`.
std::vector<troika_device> parse_eval_devices(const Context& context, const TrainOptions& options,
                                              const std::vector<troika_device>& devices) {
  if (options.eval_devices == "all") return {};
  if (options.mesh.is_auto())
    throw Failure("--eval-devices is '" + options.eval_devices +
                  "'; give all with --mesh auto, which may split the model over the devices");
  std::vector<troika_device> found = parse_devices(context, "--eval-devices", options.eval_devices);
  if (found.size() != 1)
    throw Failure("--eval-devices is '" + options.eval_devices + "'; give all, or one of --devices");
  const auto is_wanted = [&](troika_device d) { return d.kind == found[0].kind && d.index == found[0].index; };
  if (std::none_of(devices.begin(), devices.end(), is_wanted))
    throw Failure("--eval-devices is '" + options.eval_devices + "', --devices is '" + options.devices +
                  "'; give all, or one of --devices");
  return found;
}

}  // namespace

TrainingSetup::TrainingSetup(TrainOptions& options, const Job& job, bool begins)
    : context(create_context(threads_of_process(options.threads), options.seed)),
      devices(parse_devices(context, "--devices", options.devices)) {
  if (job.is_alone()) check_mesh(options.mesh, devices.size());
  check_measured_shares(options.mesh, job);
  if (!job.is_alone() && options.mesh.is_auto())
    throw Failure("--mesh is auto, which knows the devices of one process; give a mesh over those of all processes");
  eval_devices = parse_eval_devices(context, options, devices);
  TrainingSamples samples = open_training_samples(context, options.data);
  train = std::move(samples.train);
  test = std::move(samples.test);
  check_augmentation(options.augment, train.info);
  train.info.classes = std::max(train.info.classes, test.info.classes);
  if (options.drop_last && train.info.n < options.batch)
    throw Failure(formatted("--drop-last leaves no step: there are %s training samples, --batch is %d; give less",
                            with_commas(train.info.n).c_str(), options.batch));
  const auto create = [&] {
    return open_or_create_model(context, options.layers.empty() ? options.model : options.layers, options.data,
                                train.info);
  };
  model = create();
  if (begins && !options.weights.empty()) begin_from_weights(options);
  train_loader = create_loader(train, {.batch = options.batch,
                                       .shuffle = true,
                                       .drops_last = options.drop_last,
                                       .seed = options.seed,
                                       .augmentation = parse_augmentation(options.augment)});
  test_loader = create_loader(test, {.batch = options.batch});
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  call(troika_loader_tell, train_loader.get(), &position);
  steps_per_epoch = position.batches;
  ParameterGroups groups;
  std::vector<int64_t> milestones;
  std::vector<double> shares;
  troika_trainer_options attach_options = trainer_options(options, steps_per_epoch, groups, milestones, shares);
  attach_options.group = job.group();
  settle_mesh(options.mesh, context, options.threads, model, devices, options.batch, attach_options);
  settle_shares(options.mesh, create, devices, train, options.batch, attach_options);
  set_shares(options.mesh, shares, attach_options);
  check_batches(options, job);
  call(troika_model_attach, model.get(), devices.data(), static_cast<int32_t>(devices.size()), &attach_options,
       trainer.out());
}

void TrainingSetup::begin_from_weights(const TrainOptions& options) {
  check_weights_file(options.weights);
  const auto create_coloured = [&] {
    troika_dataset_info colours = train.info;
    colours.dims[0] = 3;
    return create_model_for(context, options.model, colours);
  };
  const bool is_grey = train.info.rank == 3 && train.info.dims[0] == 1 && !is_model_file(options.model);
  begun_anew = load_body(model, options.weights, options.weight_names,
                         is_grey ? std::function<Model()>(create_coloured) : nullptr);
}

std::string TrainingSetup::describe_data() const {
  return formatted("%lld training samples of %s in %lld classes", static_cast<long long>(train.info.n),
                   as_shape(train.info.dims, train.info.rank).c_str(), static_cast<long long>(train.info.classes));
}

troika_status TrainingSetup::evaluate(troika_metrics& metrics) const {
  return eval_devices.empty()
             ? call(troika_trainer_evaluate, trainer.get(), test_loader.get(), &metrics)
             : call(troika_trainer_evaluate_on, trainer.get(), eval_devices.front(), test_loader.get(), &metrics);
}

std::vector<std::string> TrainingSetup::warnings(const TrainOptions& options) const {
  std::vector<std::string> lines;
  const int64_t steps = steps_per_epoch * options.epochs;
  std::string names;
  for (const std::string& name : begun_anew) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    lines.push_back(formatted("'%s' has another number of classes: these begin anew: ", options.weights.c_str()) +
                    names);
  if (options.batch > train.info.n)
    lines.push_back(formatted("--batch is %d, there are %s training samples: each step has all of them", options.batch,
                              with_commas(train.info.n).c_str()));
  const auto is_gpu = [](troika_device device) { return device.kind == TROIKA_DEVICE_CUDA; };
  if (options.precision == "tf32" && std::none_of(devices.begin(), devices.end(), is_gpu))
    lines.push_back("--precision is tf32, CPUs compute in f32");
  if (options.data.steps != DataOptions().steps && !train.is_text())
    lines.push_back(formatted("--steps is %d, which is for texts: the samples are %s", options.data.steps,
                              as_shape(train.info.dims, train.info.rank).c_str()));
  if (options.schedule.period > 0 && options.schedule.period * static_cast<double>(steps_per_epoch) < 1)
    lines.push_back(formatted("--schedule-period is %g epochs, which is less than a step: an epoch has %s",
                              options.schedule.period, with_commas(steps_per_epoch).c_str()));
  if (options.schedule.warmup_steps > steps)
    lines.push_back(formatted("--warmup is %lld steps, the run has %lld: the rate does not reach --lr %g",
                              static_cast<long long>(options.schedule.warmup_steps), static_cast<long long>(steps),
                              options.optimizer.learning_rate));
  for (const auto& [option, limit, samples] : {std::tuple{"--limit-train", options.data.limit_train, &train},
                                               {"--limit-test", options.data.limit_test, &test}})
    if (limit > samples->info.n)
      lines.push_back(formatted("%s is %lld, there are %s samples", option, static_cast<long long>(limit),
                                with_commas(samples->info.n).c_str()));
  return lines;
}

// Refuses batches of which a part has a single value per channel for a BatchNorm: the library would
// refuse such a batch in the middle of an epoch.
void TrainingSetup::check_batches(const TrainOptions& options, const Job& job) const {
  const std::string layer = norm_of_single_values(model);
  if (layer.empty()) return;
  const BatchParts parts =
      batch_parts(options.mesh, options.replication.sync_batch_norm, static_cast<int64_t>(devices.size()) * job.size());
  const int64_t full = std::min<int64_t>(options.batch, train.info.n);
  const int64_t last = options.drop_last ? 0 : train.info.n % full;
  if (parts.smallest(full) < 2)
    throw Failure(formatted("--batch is %lld, a part of it has 1 sample, batch_norm2d '%s' needs 2; give at least %lld",
                            static_cast<long long>(full), layer.c_str(), static_cast<long long>(parts.least_batch())));
  if (last == 0 || parts.smallest(last) >= 2) return;
  const int64_t other = parts.batch_near(full, train.info.n);
  throw Failure(
      formatted("the last batch of an epoch has %lld of the %s samples, a part of it has 1, batch_norm2d '%s' needs 2; "
                "give --drop-last",
                static_cast<long long>(last), with_commas(train.info.n).c_str(), layer.c_str()) +
      (other > 0 ? formatted(", or --batch %lld", static_cast<long long>(other)) : ""));
}

}  // namespace troika::cli
