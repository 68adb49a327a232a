// The layers of a model as the texts of a drawing.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

struct DrawnLayer {
  std::string name, kind, settings, shape, parameters;  // kind empty: the model's output
  std::vector<size_t> inputs;                           // indices of layers that come before
};

struct DrawnModel {
  std::string name, note;
  std::vector<DrawnLayer> layers;  // the last is the output, if the model is complete
};

DrawnModel read_model(const Model& model);

// Returns the blocks, as ranges [begin, end): layers one after another whose names begin alike.
std::vector<std::pair<size_t, size_t>> blocks_of(const std::vector<DrawnLayer>& layers);

}  // namespace troika::cli
