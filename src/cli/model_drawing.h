// Drawings of models as SVG: a box per layer, from top to bottom, and arrows along the data.
#pragma once

#include <string>

#include "cli/client.h"

namespace troika::cli {

// Returns the drawing as one SVG document.
std::string draw_model(const Model& model);

}  // namespace troika::cli
