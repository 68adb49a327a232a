// The options of a training run.
#pragma once

#include <string>

#include "cli/data_source.h"
#include "cli/epoch_history.h"
#include "cli/mesh.h"
#include "cli/optimizer.h"
#include "cli/recompute.h"
#include "cli/replication.h"
#include "cli/schedule.h"
#include "cli/tensorboard.h"
#include "cli/weights.h"

namespace troika::cli {

struct TrainOptions {
  TrainOptions() { optimizer.name.clear(); }

  // The identity of the run: a resumed run must have the same options, except the learning rate.
  std::string model = "d2l_lenet";
  DataOptions data;
  int batch = 256;
  bool drop_last = false;
  std::string augment = "none";
  double label_smoothing = 0;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  uint64_t seed = 0;
  WeightNames weight_names;
  std::string weights;  // a file to begin from; empty: initial parameters by the seed
  // How the run is computed: may change on resuming.
  std::string devices = "cpu:0", eval_devices = "all", precision = "f32";
  int epochs = 10;
  int64_t bucket_bytes = 1048576;
  int threads = 0;
  int64_t save_every = 0;  // steps; above 0: a checkpoint also inside an epoch
  EndOptions end;
  int64_t log_every = 0;  // steps; above 0: a line with loss and rate
  MeshOptions mesh;
  RecomputeOptions recompute;
  ReplicationOptions replication;
  TensorBoardOptions tensorboard;
  // Not kept: for this call alone.
  std::string trace;   // file for the trace of a step; empty: none
  std::string layers;  // file of the run with the layers of `model`, which is a file, too; empty: none yet
};

// Calls `visit(name, field)` for the identity of the run; names are those of the command line
// without the dashes.
template <typename Visitor>
void visit_fixed(TrainOptions& options, Visitor&& visit) {
  visit("model", options.model);
  visit_images(options.data, visit);
  visit("limit-train", options.data.limit_train);
  visit("limit-test", options.data.limit_test);
  visit("batch", options.batch);
  visit("drop-last", options.drop_last);
  visit("augment", options.augment);
  visit("label-smoothing", options.label_smoothing);
  visit_optimizer(options.optimizer, visit);
  visit_schedule(options.schedule, visit);
  visit("seed", options.seed);
  visit("precision", options.precision);
  visit("classes", options.data.classes);
  visit("micro-batches", options.mesh.micro_batches);
  visit("logical-shards", options.mesh.logical_shards);
  visit("sync-batch-norm", options.replication.sync_batch_norm);
  visit("compress-gradients", options.replication.compression);
  visit("weights", options.weights);
  visit("strip-prefix", options.weight_names.strip_prefix);
  visit("name-map", options.weight_names.map);
}

// The same for what may change on resuming.
template <typename Visitor>
void visit_movable(TrainOptions& options, Visitor&& visit) {
  visit("lr", options.optimizer.learning_rate);
  visit("data", options.data.directory);
  visit("devices", options.devices);
  visit("epochs", options.epochs);
  visit_end(options.end, visit);
  visit("eval-devices", options.eval_devices);
  visit("bucket-bytes", options.bucket_bytes);
  visit("threads", options.threads);
  visit("save-every", options.save_every);
  visit("log-every", options.log_every);
  visit("mesh", options.mesh.mesh);
  visit("shares", options.mesh.shares);
  visit("layer-schedule", options.mesh.layer_schedule);
  visit("layer-chunks", options.mesh.layer_chunks);
  visit("layer-cuts", options.mesh.layer_cuts);
  visit("recompute-segments", options.recompute.segments);
  visit("recompute-layers", options.recompute.layers);
  visit("activation-budget", options.recompute.budget_bytes);
  visit("shard-optimizer", options.replication.shard_optimizer);
  visit("late-updates", options.replication.late_updates);
  visit("tensorboard", options.tensorboard.folder);
  visit("tensorboard-every", options.tensorboard.every);
}

}  // namespace troika::cli
