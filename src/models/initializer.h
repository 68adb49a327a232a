// Initialisers: values for parameters that depend only on a seed and the parameter's name.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace troika {

// Values are those of the public TROIKA_INIT_*.
enum class Initializer : int32_t {
  constant = 1,
  normal = 2,
  uniform = 3,
  kaiming_normal = 4,
  kaiming_uniform = 5,
  xavier_normal = 6,
  xavier_uniform = 7,
};

// Initialises the parameters (not the buffers) whose names match. NOT_FOUND if no name matches.
// INVALID_ARGUMENT if the initialiser needs rank 2 and a matching parameter has less: then nothing
// has changed.
void initialize(Model& model, const std::string& pattern, Initializer initializer, double a, uint64_t seed);

// The same for the parameters of layers of these kinds: `parameter` is a pattern of the last part
// of their names, such as "weight". NOT_FOUND also if no layer is of a kind.
void initialize_layers(Model& model, const std::vector<std::string>& kinds, const std::string& parameter,
                       Initializer initializer, double a, uint64_t seed);

// Sets every parameter and buffer to the model's default (running_mean 0, running_var 1,
// num_batches_tracked 0), or only those without a value.
void initialize_default(Model& model, uint64_t seed, bool only_missing);

}  // namespace troika
