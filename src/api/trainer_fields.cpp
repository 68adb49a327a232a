// Reads the options of a trainer.
#include "api/trainer_fields.h"
#include "api/structs.h"

#include <limits>

#include "api/dataset_checks.h"
#include "api/field_check.h"
#include "api/handle.h"

using namespace troika;
using namespace troika::api;

namespace {

void put(SettingValues& settings, Setting setting, double value, const OptimizerDef& optimizer,
         const std::string& where) {
  if (!optimizer.reads(setting))
    throw Error(Status::invalid_argument,
                text(where, name_of(setting), " is ", value, ", optimizer ", optimizer.name, " has none"));
  if (const std::string refusal = refusal_of(setting, value); !refusal.empty())
    throw Error(Status::invalid_argument, where + refusal);
  settings[setting] = value;
}

// Reads the fields that trainers and groups share and that default to TROIKA_UNSET.
template <typename Options>
void put_unset_fields(SettingValues& settings, const Options& o, const OptimizerDef& optimizer,
                      const std::string& where) {
  const std::pair<Setting, double> fields[] = {{Setting::beta1, o.beta1},
                                               {Setting::beta2, o.beta2},
                                               {Setting::eps, o.eps},
                                               {Setting::alpha, o.alpha},
                                               {Setting::trust, o.trust}};
  for (const auto& [setting, value] : fields)
    if (value != TROIKA_UNSET) put(settings, setting, value, optimizer, where);
}

SettingValues read_settings(const troika_trainer_options& o, const OptimizerDef& optimizer, const std::string& where) {
  SettingValues settings;
  put(settings, Setting::learning_rate, o.learning_rate, optimizer, where);
  put(settings, Setting::weight_decay, o.weight_decay, optimizer, where);
  if (o.momentum != 0 || optimizer.reads(Setting::momentum))
    put(settings, Setting::momentum, o.momentum, optimizer, where);
  if (o.nesterov != 0) put(settings, Setting::nesterov, o.nesterov, optimizer, where);
  put_unset_fields(settings, o, optimizer, where);
  return settings;
}

SettingValues read_settings(const troika_parameter_group& g, const OptimizerDef& optimizer, const std::string& where) {
  SettingValues settings;
  if (!(g.learning_rate < 0)) put(settings, Setting::learning_rate, g.learning_rate, optimizer, where);
  if (!(g.weight_decay < 0)) put(settings, Setting::weight_decay, g.weight_decay, optimizer, where);
  if (g.momentum != TROIKA_UNSET) put(settings, Setting::momentum, g.momentum, optimizer, where);
  put_unset_fields(settings, g, optimizer, where);
  return settings;
}

Schedule read_schedule(const troika_trainer_options& o, const FieldCheck& check) {
  constexpr double kLarge = 1e30;
  check.constant("schedule", o.schedule,
                 {"TROIKA_SCHEDULE_CONSTANT", "TROIKA_SCHEDULE_STEP", "TROIKA_SCHEDULE_COSINE",
                  "TROIKA_SCHEDULE_MULTI_STEP", "TROIKA_SCHEDULE_EXPONENTIAL", "TROIKA_SCHEDULE_POLYNOMIAL",
                  "TROIKA_SCHEDULE_ONE_CYCLE", "TROIKA_SCHEDULE_PLATEAU", "TROIKA_SCHEDULE_TABLE"});
  const bool is_periodic = o.schedule == TROIKA_SCHEDULE_STEP || o.schedule == TROIKA_SCHEDULE_COSINE ||
                           o.schedule == TROIKA_SCHEDULE_EXPONENTIAL || o.schedule == TROIKA_SCHEDULE_POLYNOMIAL;
  check.integer("schedule_period", o.schedule_period,
                o.schedule == TROIKA_SCHEDULE_ONE_CYCLE ? 2
                : is_periodic                           ? 1
                                                        : 0,
                INT64_MAX);
  check.real("schedule_gamma", o.schedule_gamma, 0, kLarge);
  check.real("schedule_min", o.schedule_min, 0, kLarge);
  check.integer("warmup_steps", o.warmup_steps, 0, INT64_MAX);
  check.integer("schedule_maximize", o.schedule_maximize, 0, 1);
  check.real("schedule_power", o.schedule_power, 1e-30, kLarge);
  check.real("schedule_rise", o.schedule_rise, 1e-30, 1);
  check.real("schedule_divisor", o.schedule_divisor, 1, kLarge);
  check.real("schedule_final_divisor", o.schedule_final_divisor, 1, kLarge);
  check.real("schedule_threshold", o.schedule_threshold, 0, 1);
  check.integer("schedule_patience", o.schedule_patience, 0, INT64_MAX);
  check.integer("schedule_milestone_count", o.schedule_milestone_count, o.schedule == TROIKA_SCHEDULE_MULTI_STEP,
                1 << 16);
  check.integer("schedule_table_count", o.schedule_table_count, o.schedule == TROIKA_SCHEDULE_TABLE, 1 << 24);
  check.pointer("schedule_milestones", o.schedule_milestones, "schedule_milestone_count", o.schedule_milestone_count);
  check.pointer("schedule_table", o.schedule_table, "schedule_table_count", o.schedule_table_count);

  Schedule schedule;
  schedule.kind = static_cast<ScheduleKind>(o.schedule);
  schedule.period = o.schedule_period;
  schedule.gamma = o.schedule_gamma;
  schedule.minimum = o.schedule_min;
  schedule.warmup_steps = o.warmup_steps;
  schedule.power = o.schedule_power;
  schedule.rise = o.schedule_rise;
  schedule.divisor = o.schedule_divisor;
  schedule.final_divisor = o.schedule_final_divisor;
  schedule.patience = o.schedule_patience;
  schedule.threshold = o.schedule_threshold;
  schedule.maximizes = o.schedule_maximize == 1;
  schedule.milestones.assign(o.schedule_milestones, o.schedule_milestones + o.schedule_milestone_count);
  schedule.table.assign(o.schedule_table, o.schedule_table + o.schedule_table_count);
  for (size_t i = 0; i < schedule.milestones.size(); ++i)
    check.integer(text("schedule_milestones[", i, "]").c_str(), schedule.milestones[i],
                  i > 0 ? schedule.milestones[i - 1] : 0, INT64_MAX);
  for (size_t i = 0; i < schedule.table.size(); ++i)
    check.real(text("schedule_table[", i, "]").c_str(), schedule.table[i], 0, kLarge);
  return schedule;
}

RecomputeSettings read_recompute(const troika_trainer_options& o, const FieldCheck& check) {
  check.integer("recompute_segments", o.recompute_segments, 0, INT32_MAX);
  check.integer("activation_budget_bytes", o.activation_budget_bytes, 0, INT64_MAX);
  RecomputeSettings recompute{o.recompute_segments, {}, o.activation_budget_bytes};
  if (o.recompute_layers) recompute.layers = check.names("recompute_layers", o.recompute_layers);
  if (recompute.budget_bytes > 0 && (recompute.segments > 0 || !recompute.layers.empty()))
    check.conflict("activation_budget_bytes", text(recompute.budget_bytes, ", which chooses by itself"),
                   recompute.segments > 0 ? "options.recompute_segments of 0" : "options.recompute_layers of NULL");
  return recompute;
}

constexpr int kMostRanks = 1 << 16;

std::vector<double> read_shares(const troika_trainer_options& o, const FieldCheck& check) {
  constexpr double kLeastShare = 1e-30, kLargestShare = 1e30;
  check.integer("share_count", o.share_count, 0, kMostRanks);
  check.pointer("shares", o.shares, "share_count", o.share_count);
  for (int32_t i = 0; i < o.share_count; ++i)
    check.real(text("shares[", i, "]").c_str(), o.shares[i], kLeastShare, kLargestShare);
  return {o.shares, o.shares + o.share_count};
}

// Reads how labels and samples count in the loss.
void read_labels(const troika_trainer_options& o, const FieldCheck& check, const std::string& where,
                 TrainerOptions& options) {
  check.real("label_smoothing", o.label_smoothing, 0, 1);
  check.integer("ignore_index", o.ignore_index, INT32_MIN, INT32_MAX);
  check.integer("class_weight_count", o.class_weight_count, 0, 1 << 24);
  check.pointer("class_weights", o.class_weights, "class_weight_count", o.class_weight_count);
  check.integer("sample_weights", o.sample_weights, 0, 1);
  if (const char* const set = o.label_smoothing > 0            ? "label_smoothing"
                              : o.ignore_index != TROIKA_UNSET ? "ignore_index"
                              : o.class_weight_count > 0       ? "class_weights"
                                                               : nullptr;
      set && o.loss != TROIKA_LOSS_CROSS_ENTROPY)
    throw Error(Status::invalid_argument, text(where, set, " is set, needs options.loss TROIKA_LOSS_CROSS_ENTROPY"));
  options.labels.smoothing = o.label_smoothing;
  if (o.ignore_index != TROIKA_UNSET) options.labels.ignored = static_cast<int32_t>(o.ignore_index);
  options.weighs_samples = o.sample_weights == 1;
  for (int32_t i = 0; i < o.class_weight_count; ++i) {
    if (!is_weight(o.class_weights[i]))
      throw Error(Status::invalid_argument, text(where, "class_weights[", i, "] is ", o.class_weights[i],
                                                 ", need 0, or ", kLeastWeight, " to ", kLargestWeight));
    options.class_weights.push_back(static_cast<float>(o.class_weights[i]));
  }
}

}  // namespace

TrainerOptions troika::api::read_trainer_options(const troika_trainer_options* given, const std::string& where,
                                                 uint64_t default_seed) {
  const troika_trainer_options o = read_options(given);
  const FieldCheck check(where);
  constexpr double kLarge = 1e30;
  check.constant("loss", o.loss,
                 {"TROIKA_LOSS_CROSS_ENTROPY", "TROIKA_LOSS_MEAN_SQUARED_ERROR", "TROIKA_LOSS_MEAN_ABSOLUTE_ERROR",
                  "TROIKA_LOSS_HUBER", "TROIKA_LOSS_BINARY_CROSS_ENTROPY"});
  if (!(o.huber_delta > 0 && o.huber_delta < kLarge))
    throw Error(Status::invalid_argument,
                text(where, "huber_delta is ", o.huber_delta, ", need a number above 0 and below ", kLarge));
  check.constant("reduction", o.reduction, {"TROIKA_REDUCTION_MEAN", "TROIKA_REDUCTION_SUM"});
  check.constant("precision", o.precision,
                 {"TROIKA_PRECISION_F32", "TROIKA_PRECISION_TF32", "TROIKA_PRECISION_BF16", "TROIKA_PRECISION_F16"});
  check.constant("optimizer", o.optimizer,
                 {"TROIKA_OPTIMIZER_SGD", "TROIKA_OPTIMIZER_ADAM", "TROIKA_OPTIMIZER_ADAMW", "TROIKA_OPTIMIZER_RMSPROP",
                  "TROIKA_OPTIMIZER_LARS", "TROIKA_OPTIMIZER_LAMB", "TROIKA_OPTIMIZER_ADAGRAD"});
  check.integer("nesterov", o.nesterov, 0, 1);
  if (o.nesterov && o.momentum == 0)
    throw Error(Status::invalid_argument, where + "nesterov is 1, needs options.momentum above 0");
  check.integer("skip_decay_one_axis", o.skip_decay_one_axis, 0, 1);
  check.real("average_decay", o.average_decay, 0, 1);
  check.integer("evaluate_parameters", o.evaluate_parameters, 0, 1);
  check.integer("bucket_bytes", o.bucket_bytes, 0, INT64_MAX);
  check.integer("group_count", o.group_count, 0, 4096);
  check.integer("deadline_ms", o.deadline_ms, 1, INT32_MAX);
  check.integer("collect_trace", o.collect_trace, 0, 1);
  check.integer("no_fusion", o.no_fusion, 0, 1);
  constexpr double kLargestScale = 16777216;  // 2^24; a scaled loss is still far from f32's maximum
  if (!(o.loss_scale == TROIKA_UNSET || o.loss_scale == 0))
    check.real("loss_scale", o.loss_scale, 1, kLargestScale + 1);
  check.integer("loss_scale_interval", o.loss_scale_interval, 1, 1 << 24);
  check.integer("micro_batches", o.micro_batches, 0, 1 << 10);
  check.integer("logical_shards", o.logical_shards, 0, 1 << 10);
  check.integer("mesh.data", o.mesh.data, 0, kMostRanks);
  check.integer("mesh.layer", o.mesh.layer, 0, kMostRanks);
  check.integer("mesh.channel", o.mesh.channel, 0, kMostRanks);
  check.integer("mesh.reserved", o.mesh.reserved, 0, 0);
  check.integer("reserved2", o.reserved2, 0, 0);
  check.constant("layer_schedule", o.layer_schedule,
                 {"TROIKA_LAYER_SCHEDULE_GPIPE", "TROIKA_LAYER_SCHEDULE_1F1B", "TROIKA_LAYER_SCHEDULE_INTERLEAVED"});
  check.integer("layer_chunks", o.layer_chunks, 0, 1 << 10);
  check.real("max_gradient_norm", o.max_gradient_norm, 0, kLarge);
  check.integer("sync_batch_norm", o.sync_batch_norm, 0, 1);
  check.integer("shard_optimizer", o.shard_optimizer, 0, 1);
  check.integer("samples_on_host", o.samples_on_host, 0, 1);
  check.integer("skip_not_finite", o.skip_not_finite, 0, 1);
  check.integer("late_updates", o.late_updates, 0, 1);
  check.integer("launches_in_turn", o.launches_in_turn, 0, 1);
  check.constant("gradient_compression", o.gradient_compression,
                 {"TROIKA_COMPRESSION_NONE", "TROIKA_COMPRESSION_BF16"});

  TrainerOptions options;
  options.loss = static_cast<Loss>(o.loss);
  options.reduction = static_cast<Reduction>(o.reduction);
  read_labels(o, check, where, options);
  options.huber_delta = o.huber_delta;
  options.optimizer = all_optimizers()[static_cast<size_t>(o.optimizer - 1)];
  options.settings = read_settings(o, *options.optimizer, where);
  options.decays_one_axis = o.skip_decay_one_axis == 0;
  options.average_decay = o.average_decay;
  options.evaluates_average = o.evaluate_parameters == 0;
  options.schedule = read_schedule(o, check);
  options.bucket_bytes = o.bucket_bytes;
  options.seed = o.seed ? o.seed : default_seed;
  options.deadline_ms = o.deadline_ms;
  options.collect_trace = o.collect_trace == 1;
  options.fuse = o.no_fusion == 0;
  options.compute = o.precision == TROIKA_PRECISION_BF16  ? DType::bf16
                    : o.precision == TROIKA_PRECISION_F16 ? DType::f16
                                                          : DType::f32;
  options.allow_tf32 = o.precision == TROIKA_PRECISION_TF32;
  options.loss_scale = o.loss_scale != TROIKA_UNSET ? o.loss_scale : o.precision == TROIKA_PRECISION_F16 ? 65536 : 0;
  options.conditioning.is_scaled = options.loss_scale > 0;
  options.conditioning.scale_interval = o.loss_scale_interval;
  options.conditioning.max_norm = o.max_gradient_norm;
  options.conditioning.skips_not_finite = o.skip_not_finite == 1;
  options.micro_batches = std::max(o.micro_batches, 1);
  options.logical_shards = o.logical_shards;
  options.mesh = {o.mesh.data, std::max(o.mesh.layer, 1), std::max(o.mesh.channel, 1)};
  options.shares = read_shares(o, check);
  options.pipeline_schedule = static_cast<PipelineSchedule>(o.layer_schedule);
  options.pipeline_chunks = std::max(o.layer_chunks, 1);
  if (o.layer_cuts) options.layer_cuts = check.names("layer_cuts", o.layer_cuts);
  options.recompute = read_recompute(o, check);
  options.syncs_statistics = o.sync_batch_norm == 1;
  options.shards_optimizer = o.shard_optimizer == 1;
  options.keeps_samples = o.samples_on_host == 0;
  if (o.launches_in_turn == 1) options.least_beside = std::numeric_limits<double>::infinity();
  options.compresses_gradients = o.gradient_compression == TROIKA_COMPRESSION_BF16;
  options.updates_late = o.late_updates == 1;
  check.pointer("groups", o.groups, "group_count", o.group_count);
  const auto* bytes = reinterpret_cast<const unsigned char*>(o.groups);
  for (int32_t i = 0; i < o.group_count; ++i) {
    // The stride is the first element's struct_size: an old caller's array has smaller structs.
    const std::string group_name = text(where, "groups[", i, "].");
    const uint32_t stride = o.groups->struct_size;
    const auto* at = reinterpret_cast<const troika_parameter_group*>(bytes + static_cast<size_t>(i) * stride);
    if (at->struct_size != stride)
      throw Error(Status::invalid_argument,
                  text(group_name, "struct_size is ", at->struct_size, ", groups[0] has ", stride));
    const auto g = read_options(at);
    if (!g.pattern) throw Error(Status::invalid_argument, group_name + "pattern is NULL");
    FieldCheck(group_name).integer("frozen", g.frozen, 0, 1);
    options.groups.push_back({g.pattern, g.frozen == 1, read_settings(g, *options.optimizer, group_name)});
  }
  return options;
}

void troika::api::add_shared_names(StepSpec& step, const ParameterStore& store) {
  for (ParameterGroup& group : step.groups)
    for (const SharedName& shared : store.shared_names())
      if (matches_pattern(group.pattern, shared.name)) group.shared.push_back(store.entry(shared.of).name);
}
