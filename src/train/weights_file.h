// Weights files: parameters and buffers of a model as safetensors, under PyTorch's names.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "state/safetensors.h"

namespace troika {

struct LoadReport {
  // names; a mismatching name comes with the shape found and the shape needed
  std::vector<std::string> missing, unexpected, mismatching;
  int loaded = 0;
};

struct LoadOptions {
  bool allow_partial = false;
  std::string strip_prefix;
};

void save_weights(Model& model, const std::string& path);

// Checks the whole file before anything changes. `report` is filled on MISMATCH too. If the file is
// a training state, the model's values are read from it.
void load_weights(Model& model, const std::string& path, const LoadOptions& options, LoadReport& report);

// ---- shared with checkpoints ----

constexpr const char* kTrainingStateFormat = "troika.checkpoint.1";  // its metadata 'format'
constexpr const char* kModelPrefix = "model/";                       // before the names of parameters and buffers
constexpr const char* kOptimizerPrefix = "optimizer/";               // before slot_name

bool is_training_state(const SafetensorsReader& reader);

// Adds every parameter and buffer under `prefix` + name; values are read when the file is written.
void add_parameters(SafetensorsWriter& writer, Model& model, const std::string& prefix);

// Returns the file's values for the model's entries, by entry; an empty vector if the file lacks
// the entry. Fills the report. Throws CORRUPT if the data are not what was written. Only names that
// begin with `prefix` are read; other names are ignored.
std::vector<std::vector<std::byte>> read_parameters(const SafetensorsReader& reader, const Model& model,
                                                    const std::string& prefix, LoadReport& report);

// "1 mismatching (...), 2 missing ('a', 'b')": for messages.
std::string summarize(const LoadReport& report);

}  // namespace troika
