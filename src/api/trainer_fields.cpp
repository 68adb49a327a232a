// Reading the options of a trainer.
#include "api/trainer_fields.h"

#include <limits>

#include "api/field_check.h"
#include "api/handle.h"
#include "api/recompute_fields.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr troika_trainer_options kDefaults = TROIKA_TRAINER_OPTIONS_INIT;
constexpr troika_parameter_group kGroupDefaults = TROIKA_PARAMETER_GROUP_INIT;

}  // namespace

TrainerOptions troika::api::read_trainer_options(const troika_trainer_options* given, const std::string& where,
                                                 uint64_t default_seed) {
  const troika_trainer_options o = read_options(given, kDefaults, "troika_trainer_options");
  const FieldCheck check(where);
  constexpr double kLarge = 1e30;
  check.constant("loss", o.loss, {"TROIKA_LOSS_CROSS_ENTROPY", "TROIKA_LOSS_MEAN_SQUARED_ERROR"});
  check.constant("reduction", o.reduction, {"TROIKA_REDUCTION_MEAN", "TROIKA_REDUCTION_SUM"});
  check.constant("precision", o.precision,
                 {"TROIKA_PRECISION_F32", "TROIKA_PRECISION_TF32", "TROIKA_PRECISION_BF16", "TROIKA_PRECISION_F16"});
  check.real("learning_rate", o.learning_rate, 0, kLarge);
  check.real("momentum", o.momentum, 0, 1);
  check.real("weight_decay", o.weight_decay, 0, kLarge);
  check.integer("nesterov", o.nesterov, 0, 1);
  if (o.nesterov && o.momentum == 0)
    throw Error(Status::invalid_argument, where + "nesterov is 1, needs options.momentum above 0");
  check.constant("schedule", o.schedule,
                 {"TROIKA_SCHEDULE_CONSTANT", "TROIKA_SCHEDULE_STEP", "TROIKA_SCHEDULE_COSINE"});
  check.integer("schedule_period", o.schedule_period, o.schedule == TROIKA_SCHEDULE_CONSTANT ? 0 : 1, INT64_MAX);
  check.real("schedule_gamma", o.schedule_gamma, 0, kLarge);
  check.real("schedule_min", o.schedule_min, 0, kLarge);
  check.integer("warmup_steps", o.warmup_steps, 0, INT64_MAX);
  check.integer("bucket_bytes", o.bucket_bytes, 0, INT64_MAX);
  check.integer("group_count", o.group_count, 0, 4096);
  check.integer("deadline_ms", o.deadline_ms, 1, INT32_MAX);
  check.integer("collect_trace", o.collect_trace, 0, 1);
  check.integer("fuse", o.fuse, 0, 1);
  constexpr double kLargestScale = 16777216;  // 2^24; a loss of one sample then still fits f32 by far
  if (!(o.loss_scale == TROIKA_UNSET || o.loss_scale == 0))
    check.real("loss_scale", o.loss_scale, 1, kLargestScale + 1);
  check.integer("loss_scale_interval", o.loss_scale_interval, 1, 1 << 24);
  check.integer("micro_batches", o.micro_batches, 0, 1 << 16);
  check.integer("logical_shards", o.logical_shards, 0, 1 << 16);
  constexpr int kMostRanks = 1 << 16;
  check.integer("mesh.data", o.mesh.data, 0, kMostRanks);
  check.integer("mesh.layer", o.mesh.layer, 0, kMostRanks);
  check.integer("mesh.channel", o.mesh.channel, 0, kMostRanks);
  check.constant("layer_schedule", o.layer_schedule,
                 {"TROIKA_LAYER_SCHEDULE_GPIPE", "TROIKA_LAYER_SCHEDULE_1F1B", "TROIKA_LAYER_SCHEDULE_INTERLEAVED"});
  check.integer("layer_chunks", o.layer_chunks, 0, 1 << 10);
  check.real("max_gradient_norm", o.max_gradient_norm, 0, kLarge);
  check.integer("sync_batch_norm", o.sync_batch_norm, 0, 1);
  check.integer("shard_optimizer", o.shard_optimizer, 0, 1);
  check.integer("samples_on_device", o.samples_on_device, 0, 1);
  check.integer("overlap_weight_gradients", o.overlap_weight_gradients, 0, 1);
  check.real("label_smoothing", o.label_smoothing, 0, 1);
  check.integer("ignore_index", o.ignore_index, INT32_MIN, INT32_MAX);
  if (o.loss != TROIKA_LOSS_CROSS_ENTROPY && (o.label_smoothing > 0 || o.ignore_index != TROIKA_UNSET))
    throw Error(Status::invalid_argument, text(where, o.label_smoothing > 0 ? "label_smoothing" : "ignore_index",
                                               " is set, needs options.loss TROIKA_LOSS_CROSS_ENTROPY"));
  check.constant("gradient_compression", o.gradient_compression,
                 {"TROIKA_COMPRESSION_NONE", "TROIKA_COMPRESSION_BF16"});

  TrainerOptions options;
  options.loss = static_cast<Loss>(o.loss);
  options.reduction = static_cast<Reduction>(o.reduction);
  options.labels.smoothing = o.label_smoothing;
  if (o.ignore_index != TROIKA_UNSET) options.labels.ignored = static_cast<int32_t>(o.ignore_index);
  options.learning_rate = o.learning_rate;
  options.weight_decay = o.weight_decay;
  options.sgd.momentum = o.momentum;
  options.sgd.nesterov = o.nesterov == 1;
  options.schedule = {static_cast<ScheduleKind>(o.schedule), o.schedule_period, o.schedule_gamma, o.schedule_min,
                      o.warmup_steps};
  options.bucket_bytes = o.bucket_bytes;
  options.seed = o.seed ? o.seed : default_seed;
  options.deadline_ms = o.deadline_ms;
  options.collect_trace = o.collect_trace == 1;
  options.fuse = o.fuse == 1;
  options.compute = o.precision == TROIKA_PRECISION_BF16  ? DType::bf16
                    : o.precision == TROIKA_PRECISION_F16 ? DType::f16
                                                          : DType::f32;
  options.allow_tf32 = o.precision == TROIKA_PRECISION_TF32;
  options.loss_scale = o.loss_scale != TROIKA_UNSET ? o.loss_scale : o.precision == TROIKA_PRECISION_F16 ? 65536 : 0;
  options.sgd.is_scaled = options.loss_scale > 0;
  options.sgd.scale_interval = o.loss_scale_interval;
  options.sgd.max_gradient_norm = o.max_gradient_norm;
  options.micro_batches = std::max(o.micro_batches, 1);
  options.logical_shards = o.logical_shards;
  options.mesh = {o.mesh.data, std::max(o.mesh.layer, 1), std::max(o.mesh.channel, 1)};
  options.pipeline_schedule = static_cast<PipelineSchedule>(o.layer_schedule);
  options.pipeline_chunks = std::max(o.layer_chunks, 1);
  if (o.layer_cuts) options.layer_cuts = check.names("layer_cuts", o.layer_cuts);
  options.recompute = read_recompute(o, check);
  options.syncs_statistics = o.sync_batch_norm == 1;
  options.shards_optimizer = o.shard_optimizer == 1;
  options.keeps_samples = o.samples_on_device == 1;
  if (o.overlap_weight_gradients == 0) options.least_beside = std::numeric_limits<double>::infinity();
  options.compresses_gradients = o.gradient_compression == TROIKA_COMPRESSION_BF16;
  if (o.group_count > 0 && !o.groups)
    throw Error(Status::invalid_argument, text(where, "groups is NULL, group_count is ", o.group_count));
  const auto* bytes = reinterpret_cast<const unsigned char*>(o.groups);
  for (int32_t i = 0; i < o.group_count; ++i) {
    // Each element has the size that it says, so that an old caller's array of smaller structs is walked rightly.
    const auto* at = reinterpret_cast<const troika_parameter_group*>(bytes);
    const auto g = read_options(at, kGroupDefaults, "troika_parameter_group");
    bytes += at->struct_size;
    const std::string group_name = text(where, "groups[", i, "].");
    if (!g.pattern) throw Error(Status::invalid_argument, group_name + "pattern is NULL");
    FieldCheck(group_name).integer("frozen", g.frozen, 0, 1);
    ParameterGroup group{g.pattern, g.frozen == 1, {}, {}};
    if (!(g.learning_rate < 0))
      FieldCheck(group_name).real("learning_rate", g.learning_rate, 0, kLarge), group.learning_rate = g.learning_rate;
    if (!(g.weight_decay < 0))
      FieldCheck(group_name).real("weight_decay", g.weight_decay, 0, kLarge), group.weight_decay = g.weight_decay;
    options.groups.push_back(std::move(group));
  }
  return options;
}
