// From a model to a rank's plan: THE recipe.
#pragma once

#include "core/log.h"
#include "parallel/channel_split.h"
#include "parallel/data_parallel.h"
#include "parallel/layer_stages.h"
#include "parallel/micro_batches.h"
#include "parallel/sync_batch_norm.h"
#include "parallel/unroll.h"
#include "passes/passes.h"
#include "passes/recompute.h"
#include "plan/lower.h"

namespace troika {

enum class Mode { train, evaluate, predict };

struct CompileRequest {
  explicit CompileRequest(const Graph& graph) : model(graph) {}
  const Graph& model;
  Mode mode = Mode::train;
  int64_t local_batch = 0;   // samples of this rank; 0: it only takes part in the all-reduce and the update
  int64_t global_batch = 0;  // samples of all ranks
  std::vector<MicroBatch> micro_batches;  // this rank's samples when training
  int ranks = 1;                          // that hold the same layers
  int rank = 0;                           // of them, this one
  // With layers split: this rank's position in its pipeline, and the order of the pipeline's actions.
  const LayerStages* stages = nullptr;  // null: one rank has all layers
  int position = 0, positions = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  // With channels split: this rank's place in its channel group.
  const ChannelSplit* channel_split = nullptr;  // null: one rank has all channels
  int channel_rank = 0;
  Loss loss = Loss::cross_entropy;
  bool is_mean = true;  // the loss is the mean over global_batch samples, else the sum
  bool fuse = true;
  DType compute = DType::f32;  // bf16 or f16: mixed precision
  bool allow_tf32 = false;     // f32 products may be made with 10 bits of fraction
  // Gradients of weights of at least so many operations run beside other launches, on a device that records.
  double least_beside = std::numeric_limits<double>::infinity();
  // For training:
  std::vector<std::string> trainable;      // of the whole model
  std::vector<std::string> own_trainable;  // of them, those of this rank's layers, as buckets and groups are
  std::vector<Bucket> buckets;
  RecomputeSettings recompute;
  SgdSettings sgd;
  std::vector<UpdateGroup> groups;  // that this rank updates
  GradientShare gradient_share;
  bool compresses_gradients = false;  // to bf16, for their sum over `ranks`
  bool shards_optimizer = false;      // each parameter is updated by one of `ranks`
  bool syncs_statistics = false;      // batch_norm2d normalises the samples of all `ranks`
  int64_t rates = 1;
};

// The network for one micro-batch of so many samples, from samples to outputs, and when training to gradients.
StepPart build_part(const CompileRequest& request, int64_t samples, const Log& log);

// The orders of the pipeline's positions for so many micro-batches, when training. Without stages one rank has all layers.
PipelineTable schedule_of(const CompileRequest& request, int micro_batches);

// The graph that is lowered, after every pass.
Graph build_graph(const CompileRequest& request, const Log& log);

Plan compile(const CompileRequest& request, Device& device, StateTable& state, const Log& log);

}  // namespace troika
