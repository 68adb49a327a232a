// The recipe that turns a model into a rank's plan.
#pragma once

#include "core/interruption.h"
#include "core/log.h"
#include "parallel/batch_results.h"
#include "parallel/channel_split.h"
#include "parallel/data_parallel.h"
#include "parallel/layer_stages.h"
#include "parallel/micro_batches.h"
#include "parallel/sync_batch_norm.h"
#include "parallel/unroll.h"
#include "passes/passes.h"
#include "plan/lower.h"
#include "plan/step_spec.h"

namespace troika {

enum class Mode { train, evaluate, predict };

// The part of a training step that a plan computes.
struct StepForm {
  enum Part {
    whole,
    passes,  // forward, a pause, and backward to the sums of gradients over ranks
    update,  // everything after that, for gradients that are there
  } part = whole;
  // For passes:
  bool has_own_loss = false;        // the gradient of the output is fed
  bool has_input_gradient = false;  // the gradient of the samples is an output
  bool is_weighed = false;          // the gradient of the loss is multiplied by a factor that is fed
  bool operator==(const StepForm&) const = default;
};

struct CompileRequest {
  explicit CompileRequest(const Graph& graph, StepSpec step = {}) : model(graph), spec(std::move(step)) {}
  const Graph& model;
  StepSpec spec;
  Mode mode = Mode::train;
  ValueId output = kNoValue;              // of the model, to predict; kNoValue: the model's own output
  StepForm form;                          // of training
  int64_t local_batch = 0;                // samples of this rank; 0: the rank takes part only in sums and the update
  int64_t global_batch = 0;               // samples of all ranks
  std::vector<MicroBatch> micro_batches;  // this rank's samples when training
  int ranks = 1;                          // ranks that hold the same layers
  int rank = 0;                           // this rank's number among them
  // If layers are split: this rank's position in its pipeline.
  const LayerStages* stages = nullptr;  // null: one rank has all layers
  int position = 0, positions = 1;
  // If channels are split: this rank's place in its channel group.
  const ChannelSplit* channel_split = nullptr;  // null: one rank has all channels
  int channel_rank = 0;
  BatchResults results;
  Interruption interruption;
  FusesPool fuses_pool = {};  // whether the device does, which compile() asks; empty: it does not
  bool runs_beside = false;   // the device records: gradients of weights run concurrently (StepSpec::least_beside)
  // For training:
  std::vector<std::string> trainable;      // of the whole model
  std::vector<std::string> own_trainable;  // those of this rank's layers, as buckets and groups
  std::vector<Bucket> buckets;
  std::vector<size_t> sum_order;    // if updates are late: of the buckets; empty: they are not
  std::vector<UpdateGroup> groups;  // groups that this rank updates
  CountedGradients counted_gradients;
  std::vector<std::string> split_norms;  // see OptimizerStep
};

// Returns the passes that only make steps faster. A host may leave them out, to measure them.
const std::vector<std::string>& optional_passes();

// Returns the network for one micro-batch of so many samples: from samples to outputs, and in
// training to gradients.
Network build_network(const CompileRequest& request, int64_t samples, const Log& log);

// Returns the orders of the pipeline's positions for so many micro-batches of training. Without
// stages one rank has all layers.
PipelineTable schedule_of(const CompileRequest& request, int micro_batches);

// Returns the graph that is lowered, after every pass.
Graph build_graph(const CompileRequest& request, const Log& log);

Plan compile(const CompileRequest& request, Device& device, StateTable& state, const Log& log);

}  // namespace troika
