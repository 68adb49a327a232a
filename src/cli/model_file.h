// A model in a file, which has the layers: to train, or to evaluate.
#pragma once

#include <string>

#include "cli/client.h"

namespace troika::cli {

// Whether --model names a file. A name of the zoo never does.
bool is_model_file(const std::string& name);

// Returns the name of a model for lines and titles: that of its file, without folders.
std::string shown_model(const std::string& name);

// Opens the model with its parameters. Throws Failure if the model cannot take the samples, or has
// fewer outputs than the labels need. `info.classes` is that number of labels, and becomes the
// number of outputs. `classes` is --classes.
Model open_model_file(const Context& context, const std::string& path, int classes, troika_dataset_info& info);

}  // namespace troika::cli
