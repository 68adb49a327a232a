// Weights files as a user has them: of other programs, with other names, for other numbers of
// classes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

// How the names in a weights file become those of the model.
struct WeightNames {
  std::string strip_prefix;  // that comes before them
  std::string map;           // rules, or the name of a table; empty: they are the same
};

void add_weight_names(const Command& command, WeightNames& names);

// Refuses files of PyTorch's own format, which may hold code, and names the script that converts
// them.
void check_weights_file(const std::string& path);

// Returns the number of outputs in the model's weights file: the first dimension of its last
// parameter. 0: the file does not fit; loading then reports why. Loads what fits.
int64_t classes_in_file(const Model& model, const std::string& path, const WeightNames& names);

// Loads the file into the model, whose names and shapes must fit.
void load_weights(const Model& model, const std::string& path, const WeightNames& names);

// The same, but the last layer may have other shapes: it then keeps its values. Returns the names
// of the parameters that do. If the model is for grey images and the file for three colours,
// `create_coloured` creates the model for these. The first layer then takes the sum over the
// colours, so that a grey image counts as one with three equal colours. Null: there is no such
// model.
std::vector<std::string> load_body(const Model& model, const std::string& path, const WeightNames& names,
                                   const std::function<Model()>& create_coloured);

}  // namespace troika::cli
