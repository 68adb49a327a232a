// One training run in a folder: its options, and the loop over epochs that can be stopped and resumed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cli/data_source.h"
#include "cli/progress.h"

namespace troika::cli {

struct TrainOptions {
  // What the run is: a resumed run must have the same.
  std::string model = "d2l_lenet";
  DataOptions data;
  int batch = 256;
  double learning_rate = 0.1, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  uint64_t seed = 0;
  std::string schedule = "constant";
  double schedule_period = 0;  // epochs; 0: all epochs of the run (cosine)
  double gamma = 0.1;
  int64_t warmup_steps = 0;
  // How and where it runs: may change on resuming.
  std::string devices = "cpu:0", eval_devices = "all";
  int epochs = 10;
  int64_t bucket_bytes = 1048576;
  int threads = 0;
};

// The names in a run folder.
struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path options() const { return path / "run.json"; }
  std::filesystem::path metrics() const { return path / "metrics.csv"; }
  std::filesystem::path weights() const { return path / "weights.safetensors"; }
  std::filesystem::path checkpoint() const { return path / "checkpoint.safetensors"; }
};

// Trains and gives the exit status: 0, or 130 where Ctrl-C stopped it with a checkpoint to go on from. `begun_with`
// describes the data that the run began with, empty for a new run. `save_options` is called with this description once
// everything is known to be right, before the first file is written.
int run_training(const TrainOptions& options, const RunFolder& folder, ProgressMode mode, const std::string& begun_with,
                 const std::function<void(const std::string& data)>& save_options);

}  // namespace troika::cli
