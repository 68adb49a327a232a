// One training run in a folder: the loop over epochs that can be stopped and resumed.
#pragma once

#include <functional>

#include "cli/job.h"
#include "cli/progress.h"
#include "cli/run_file.h"

namespace troika::cli {

// Trains, and returns the exit status: 0, or that of StopSignals if a signal stopped the run with a
// checkpoint to go on from. With `--mesh auto` the mesh is chosen first and written to `options`.
// Throws Failure if the loss is not a number; files of earlier epochs stay then. `begun` is the
// record of the run that is resumed, NULL for a new run. `save` writes run.json: after all checks
// and before the first other file, and after a checkpoint inside an epoch.
// All processes of the job call it; its leader writes the folder.
int run_training(TrainOptions& options, const RunFolder& folder, const ProgressOptions& progress, const Job& job,
                 const RunRecord* begun, const std::function<void(const RunRecord& record)>& save);

}  // namespace troika::cli
