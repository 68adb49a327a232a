// One training run in a folder: its options, and the loop over epochs that can be stopped and
// resumed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/data_source.h"
#include "cli/epoch_sums.h"
#include "cli/job.h"
#include "cli/mesh.h"
#include "cli/optimizer.h"
#include "cli/progress.h"
#include "cli/recompute.h"
#include "cli/replication.h"
#include "cli/schedule.h"
#include "cli/tensorboard.h"

namespace troika::cli {

struct TrainOptions {
  // The identity of the run: a resumed run must have the same options.
  std::string model = "d2l_lenet";
  DataOptions data;
  int batch = 256;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  uint64_t seed = 0;
  // How the run is computed: may change on resuming.
  std::string devices = "cpu:0", eval_devices = "all", precision = "f32";
  int epochs = 10;
  int64_t bucket_bytes = 1048576;
  int threads = 0;
  int64_t save_every = 0;  // steps; above 0: a checkpoint also inside an epoch
  MeshOptions mesh;
  RecomputeOptions recompute;
  ReplicationOptions replication;
  // Not kept: for this call alone.
  std::string trace;  // file for the trace of a step; empty: none
  TensorBoardOptions tensorboard;
};

// The contents of run.json, apart from the options.
struct RunRecord {
  std::string data;     // describes the data, which a resumed run must find again
  EpochSums last_stop;  // of the epoch in which a checkpoint was saved last before its end; step 0: never
};

// The names in a run folder.
struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path options() const { return path / "run.json"; }
  std::filesystem::path metrics() const { return path / "metrics.csv"; }
  std::filesystem::path weights() const { return path / "weights.safetensors"; }
  std::filesystem::path average() const { return path / "average.safetensors"; }
  std::filesystem::path checkpoint() const { return path / "checkpoint.safetensors"; }

  // Returns a file that shows that a run has trained here, the checkpoint first. Empty if there is
  // none: run.json alone is not a run.
  std::filesystem::path trace() const {
    for (const std::filesystem::path& file : {checkpoint(), metrics(), weights()})
      if (std::filesystem::exists(file)) return file;
    return {};
  }
  std::vector<std::string> names() const {
    return {"run.json", "metrics.csv", "accuracy.svg", "loss.svg", "weights.safetensors", "checkpoint.safetensors"};
  }
};

// Refuses an unknown value of --schedule.

// Trains, and returns the exit status: 0, or 130 or 143 if Ctrl-C or SIGTERM stopped the run with a
// checkpoint to go on from. With `--mesh auto` the mesh is chosen first and written to `options`.
// Throws Failure if the loss is not a number; files of earlier epochs stay then. `begun` is the
// record of the run that is resumed, NULL for a new run. `save` writes run.json: after all checks
// and before the first other file, and after a checkpoint inside an epoch.
// All processes of the job call it; its leader writes the folder.
int run_training(TrainOptions& options, const RunFolder& folder, const ProgressOptions& progress, const Job& job,
                 const RunRecord* begun, const std::function<void(const RunRecord& record)>& save);

}  // namespace troika::cli
