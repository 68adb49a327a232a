// A model in a file, which has the layers: to train, or to evaluate.
#pragma once

#include <string>

#include "cli/client.h"

namespace troika::cli {

// Whether --model names a file instead of a model of the zoo.
bool is_model_file(const std::string& name);

// Returns the name of a model for lines and titles: that of its file, without folders.
std::string shown_model(const std::string& name);

// Opens the model with its parameters. Throws Failure if it cannot take the samples, or has fewer
// outputs than the labels need; `info.classes`, those of the labels, becomes the outputs.
// `classes` is --classes.
Model open_model_file(const Context& context, const std::string& path, int classes, troika_dataset_info& info);

}  // namespace troika::cli
