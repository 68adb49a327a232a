// run.json: the options of a run and the place in it, for those that go on with the run.
#pragma once

#include <string>
#include <vector>

#include "cli/epoch_sums.h"
#include "cli/run_folder.h"
#include "cli/train_options.h"

namespace troika::cli {

// The contents of run.json, apart from the options.
struct RunRecord {
  std::string data;     // describes the data, which a resumed run must find again
  EpochSums last_stop;  // of the epoch in which a checkpoint was saved last before its end; step 0: never
  int processes = 1;    // that computed last
  std::vector<std::string> class_names;  // in the order of labels; empty: classes have none
};

// Takes the options of the run, and those of the command line that may differ. Returns the rest of
// run.json. Throws Failure if there is no run, or if an option contradicts it.
RunRecord read_run(const Command& command, TrainOptions& options, const RunFolder& folder);

// Takes the options in a file like run.json that the command line does not have, and that do not
// follow from options of the command line. Throws Failure for an option that train does not have.
void read_config(const Command& command, TrainOptions& options, const std::filesystem::path& file);

// Returns the options of a run, or of its run.json alone.
TrainOptions read_run_options(const RunFolder& folder);

// Returns the rest of a run's run.json.
RunRecord read_run_record(const RunFolder& folder);

// Replaces run.json.
void write_run(TrainOptions options, const RunFolder& folder, const RunRecord& record);

}  // namespace troika::cli
