// The devices, samples, model and trainer of a run.
#pragma once

#include <string>
#include <vector>

#include "cli/data_source.h"
#include "cli/job.h"
#include "cli/train_options.h"

namespace troika::cli {

// Made in this order, once, at the start of a run.
struct TrainingSetup {
  // Throws Failure for options that do not fit the data, the devices or the model. With `--mesh
  // auto` chooses the mesh and writes it to `options`.
  // `begins`: there is no checkpoint to go on from, so --weights counts.
  TrainingSetup(TrainOptions& options, const Job& job, bool begins);

  // Describes the part of the data that a resumed run must find again.
  std::string describe_data() const;

  // Evaluates on the test samples. STOPPED if a progress callback asks for it.
  troika_status evaluate(troika_metrics& metrics) const;

  // Options that do less than they say, one line each.
  std::vector<std::string> warnings(const TrainOptions& options) const;

  Context context;
  std::vector<troika_device> devices, eval_devices;  // eval_devices empty: all of devices
  Samples train, test;
  Model model;
  Loader train_loader, test_loader;
  Trainer trainer;
  int64_t steps_per_epoch = 0;
  std::vector<std::string> begun_anew;  // parameters that --weights does not fit

 private:
  void begin_from_weights(const TrainOptions& options);
  void check_batches(const TrainOptions& options, const Job& job) const;
};

}  // namespace troika::cli
