// Weights files as a user has them: of other programs, with other names, for other numbers of
// classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

// Refuses files of PyTorch's own format, which may hold code, and names the script that converts
// them.
void check_weights_file(const std::string& path);

// Returns the number of outputs in the model's weights file: the first dimension of its last
// parameter. 0: the file has no such name; loading then reports what does not fit. `prefix` comes
// before the names in the file.
int64_t classes_in_file(const Model& model, const std::string& path, const std::string& prefix);

// Loads the file into the model, whose names and shapes must fit. `prefix` is left out of the
// file's names.
void load_weights(const Model& model, const std::string& path, const std::string& prefix);

// Copies the parameters and buffers of `from` whose shapes fit. Returns the names of the others.
std::vector<std::string> copy_weights(const Model& from, const Model& to);

}  // namespace troika::cli
