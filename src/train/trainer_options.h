// What a trainer is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/mesh.h"
#include "parallel/pipeline_schedule.h"
#include "passes/passes.h"
#include "passes/recompute.h"

namespace troika {

enum class Reduction : int32_t { mean = 1, sum = 2 };

struct ParameterGroup {
  std::string pattern;
  bool is_frozen = false;
  std::optional<double> learning_rate, weight_decay;  // empty: the trainer's
};

enum class ScheduleKind : int32_t { constant = 1, step = 2, cosine = 3 };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  int64_t period = 0;
  double gamma = 0.1;
  double minimum = 0;
  int64_t warmup_steps = 0;

  // The learning rate of step `step`, counted from 0, for the base rate `rate`.
  double at(int64_t step, double rate) const;
};

struct TrainerOptions {
  Loss loss = Loss::cross_entropy;
  Reduction reduction = Reduction::mean;
  double learning_rate = 0.1;
  double weight_decay = 0;
  SgdSettings sgd;
  Schedule schedule;
  int64_t bucket_bytes = 1 << 20;
  uint64_t seed = 0;
  std::vector<ParameterGroup> groups;
  int64_t deadline_ms = 600000;
  bool collect_trace = false;
  bool keeps_samples = true;  // datasets on devices that gather batches themselves
  bool fuse = true;
  double least_beside = 5e8;  // operations of a gradient of weights that may run beside other launches
  DType compute = DType::f32;
  bool allow_tf32 = false;
  int64_t micro_batches = 1;   // of each replica's samples
  int64_t logical_shards = 0;  // of the whole batch; 0: none
  Mesh mesh;
  PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
  int pipeline_chunks = 1;              // stages a rank
  std::vector<std::string> layer_cuts;  // layers that begin a stage; empty: cut by cost
  double loss_scale = 0;                // at the start, where sgd.is_scaled
  RecomputeSettings recompute;
  bool syncs_statistics = false;      // SyncBatchNorm
  bool shards_optimizer = false;      // ZeRO level 1
  bool compresses_gradients = false;  // to bf16, for their sum
};

}  // namespace troika
