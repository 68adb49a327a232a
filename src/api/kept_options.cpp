// Copies and completes a trainer's options.
#include "api/kept_options.h"

#include "api/structs.h"
#include "train/trainer.h"

namespace troika::api {

KeptOptions::KeptOptions(const troika_trainer_options* given) : options_(read_options(given)) {
  troika_trainer_options& o = options_;
  // The caller's version of the struct may be shorter, and so may its groups be.
  const auto* at = reinterpret_cast<const unsigned char*>(o.groups);
  for (int32_t i = 0; i < o.group_count; ++i, at += o.groups->struct_size) {
    groups_.push_back(read_options(reinterpret_cast<const troika_parameter_group*>(at)));
    groups_.back().pattern = keep(groups_.back().pattern);
  }
  milestones_.assign(o.schedule_milestones, o.schedule_milestones + o.schedule_milestone_count);
  table_.assign(o.schedule_table, o.schedule_table + o.schedule_table_count);
  shares_.assign(o.shares, o.shares + o.share_count);
  class_weights_.assign(o.class_weights, o.class_weights + o.class_weight_count);
  o.groups = groups_.empty() ? nullptr : groups_.data();
  o.schedule_milestones = milestones_.empty() ? nullptr : milestones_.data();
  o.schedule_table = table_.empty() ? nullptr : table_.data();
  o.shares = shares_.empty() ? nullptr : shares_.data();
  o.class_weights = class_weights_.empty() ? nullptr : class_weights_.data();
  o.group = nullptr;  // the handle is the caller's
  o.layer_cuts = keep(o.layer_cuts);
  o.recompute_layers = keep(o.recompute_layers);
}

void KeptOptions::resolve(const Trainer& trainer) {
  const TrainerOptions& used = trainer.options();
  const RankMap& ranks = trainer.layout().ranks();
  troika_trainer_options& o = options_;
  o.mesh = {ranks.shares(), ranks.positions(), ranks.channels(), 0};
  o.micro_batches = static_cast<int32_t>(used.micro_batches);
  o.layer_chunks = used.pipeline_chunks;
  if (trainer.layout().spec().shards_optimizer) o.shard_optimizer = 1;  // also for CPUs and GPUs together
  o.seed = used.seed;
  o.loss_scale = used.loss_scale;
  // A setting that the optimizer does not read stays unset: the optimizer refuses any value.
  const std::pair<Setting, double*> fields[] = {{Setting::beta1, &o.beta1},
                                                {Setting::beta2, &o.beta2},
                                                {Setting::eps, &o.eps},
                                                {Setting::alpha, &o.alpha},
                                                {Setting::trust, &o.trust}};
  for (const auto& [setting, field] : fields)
    if (used.optimizer->reads(setting)) *field = used.setting(0, setting);
}

const char* KeptOptions::keep(const char* value) { return value ? texts_.emplace_back(value).c_str() : nullptr; }

}  // namespace troika::api
