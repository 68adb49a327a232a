// Printing of a model.
#pragma once

#include <string>

#include "models/model.h"

namespace troika {

// Returns the tree of layers as PyTorch's repr prints it, with output shapes, parameters and
// operations.
std::string print_model(const Model& model);

}  // namespace troika
