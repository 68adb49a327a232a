// The options that change a plan: what a training step computes, and how the devices share the
// work. Trainer and planner both build their steps from it (plan/step_layout.h).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/text.h"
#include "parallel/mesh.h"
#include "parallel/pipeline_schedule.h"
#include "passes/loss.h"
#include "passes/optimizer.h"
#include "passes/recompute.h"

namespace troika {

enum class Reduction : int32_t { mean = 1, sum = 2 };

// Settings of the parameters whose names match. A parameter belongs to the first group that matches
// it.
struct ParameterGroup {
  std::string pattern;
  bool is_frozen = false;
  SettingValues settings = {};           // without a value: the step's
  std::vector<std::string> shared = {};  // parameters of which another layer's name matches
};

// Whether a parameter is of the group, if no group before has it.
inline bool matches(const ParameterGroup& group, const std::string& parameter) {
  return matches_pattern(group.pattern, parameter) ||
         std::find(group.shared.begin(), group.shared.end(), parameter) != group.shared.end();
}

struct StepSpec {
  Loss loss = Loss::cross_entropy;
  Reduction reduction = Reduction::mean;
  LabelSettings labels;  // for cross-entropy
  std::vector<float> class_weights;  // for cross-entropy: by class; empty: 1 each
  bool weighs_samples = false;       // batches may have weights of samples
  double huber_delta = 1;
  DType compute = DType::f32;  // bf16 or f16: mixed precision
  bool allow_tf32 = false;     // f32 products may round their factors to 10 bits of fraction
  bool fuse = true;
  const OptimizerDef* optimizer = &sgd_optimizer;
  SettingValues settings;  // without a value: the optimizer's
  std::vector<ParameterGroup> groups;
  bool decays_one_axis = true;  // weight decay of biases and BatchNorm's parameters, too
  double average_decay = 0;     // above 0: moving averages of the parameters
  Conditioning conditioning;
  int64_t bucket_bytes = 1 << 20;
  int64_t micro_batches = 1;   // of each share of the samples
  int64_t logical_shards = 0;  // of the whole batch; 0: none
  Mesh mesh;
  std::vector<double> shares;  // sizes of the parts of the batch, one per share; empty: equal
  PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
  int pipeline_chunks = 1;              // stages per position of the pipeline
  std::vector<std::string> layer_cuts;  // layers that begin a stage; empty: cut by cost
  RecomputeSettings recompute;
  bool syncs_statistics = false;      // SyncBatchNorm
  bool shards_optimizer = false;      // ZeRO level 1: each parameter is updated by one rank of its data group
  bool compresses_gradients = false;  // to bf16, for their sum over the shares
  bool updates_late = false;          // if sums travel between processes (parallel/late_updates.h)
  std::vector<std::string> left_out;  // of optional_passes() (plan/compile.h)
  double least_beside = 5e8;  // operations of a gradient of weights that may run concurrently with other launches

  // Whether the mean is over a number of labels, or a sum of their weights, that is known only when
  // a batch is there.
  bool counts_labels() const { return reduction == Reduction::mean && (labels.ignored.has_value() || has_weights()); }
  bool has_weights() const { return weighs_samples || !class_weights.empty(); }
  // Returns the value of a setting for a row: row 0 is the step, row g + 1 is group g.
  double setting(size_t row, Setting setting) const;
  // Returns the settings that updates read, in the order of their columns.
  std::vector<Setting> columns() const;
  // Returns the slots of each trained parameter: those of the optimizer and of the averages.
  std::vector<std::string> slots() const;
};

}  // namespace troika
