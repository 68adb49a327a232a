// The weights to compute with, and the data for them: of a run, or chosen by options.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/data_source.h"
#include "cli/image_folder.h"
#include "cli/weights.h"

namespace troika::cli {

struct EvaluatedRun {
  std::string run;  // folder; empty: `weights` and `model` are given
  DataOptions data;
  std::string model, weights, devices = "cpu:0";
  WeightNames weight_names;
  std::string precision = "f32";         // of the run
  std::vector<std::string> class_names;  // of the run; empty: it has none
  int batch = 256, threads = 0;
};

void add_evaluated_options(const Command& command, EvaluatedRun& options);

// Takes the options that were not given from the run. Warns if weights of a run are used with data
// that are prepared in another way.
void complete_evaluated(const Command& command, EvaluatedRun& options);

// Creates the model with --classes outputs, or as many as its weights file has, and loads the
// weights.
Model open_evaluated(const Context& context, const EvaluatedRun& options, troika_dataset_info info);

// Returns the form of the images that the model reads, if the file of the weights has its layers.
ImageForm input_form(const Context& context, const EvaluatedRun& options);

// Returns the names of the classes: the run's, or else those of the data. Empty: there are none.
// Throws Failure if the run and the data have different names.
std::vector<std::string> names_of_classes(const EvaluatedRun& options, const Samples& samples);

}  // namespace troika::cli
