// The files that a run writes into its folder: metrics, charts, weights and checkpoints.
#pragma once

#include <vector>

#include "cli/job.h"
#include "cli/metrics_file.h"
#include "cli/run_folder.h"
#include "cli/train_options.h"
#include "cli/training_setup.h"

namespace troika::cli {

// All processes of a job call it alike; its leader writes.
class RunResults {
 public:
  // All references must outlive it.
  RunResults(const RunFolder& folder, const TrainOptions& options, const TrainingSetup& setup, const Job& job)
      : folder_(folder), options_(options), setup_(setup), job_(job) {}

  // Before the first of the other calls: removes what killed processes have left.
  void start();

  // After an epoch: `rows` has a row per epoch.
  void write(const std::vector<EpochMetrics>& rows);

  void save_checkpoint() const;

  // Moves the trainer and the loader to the checkpoint. Returns the place of the next step. Throws
  // Failure if the checkpoint is of another run.
  troika_loader_position load_checkpoint() const;

 private:
  std::vector<std::string> titles() const;  // of charts, from long to short
  void save_weights(const std::filesystem::path& file) const;
  void save_parameters(const std::filesystem::path& file) const;

  const RunFolder& folder_;
  const TrainOptions& options_;
  const TrainingSetup& setup_;
  const Job& job_;
  bool is_first_ = false;  // nothing has been saved yet
};

}  // namespace troika::cli
