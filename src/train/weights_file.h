// Weights files: parameters and buffers of a model as safetensors, under PyTorch's names.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "state/safetensors.h"

namespace troika {

struct LoadReport {
  std::vector<std::string> missing, unexpected, mismatching;  // names; mismatching ones with what was found and needed
  int loaded = 0;
};

struct LoadOptions {
  bool allow_partial = false;
  std::string strip_prefix;
};

void save_weights(Model& model, const std::string& path);

// Checks the whole file before anything is changed; `report` is filled for MISMATCH too. Of a training state the model's
// values are taken.
void load_weights(Model& model, const std::string& path, const LoadOptions& options, LoadReport& report);

// ---- shared with checkpoints ----

constexpr const char* kTrainingStateFormat = "troika.checkpoint.1";  // its metadata 'format'
constexpr const char* kModelPrefix = "model/";                       // before the names of parameters and buffers
constexpr const char* kOptimizerPrefix = "optimizer/";               // before slot_name

bool is_training_state(const SafetensorsReader& reader);

// Adds every parameter and buffer under `prefix` + name; values are read when the file is written.
void add_parameters(SafetensorsWriter& writer, Model& model, const std::string& prefix);

// The values that a file holds for the model's entries, by entry; empty where the file has none. Fills the report.
// Throws CORRUPT where the data is not what was written.
// `prefix` stands before every name in the file that counts; others are left alone.
std::vector<std::vector<std::byte>> read_parameters(const SafetensorsReader& reader, const Model& model,
                                                    const std::string& prefix, LoadReport& report);

// "1 mismatching (...), 2 missing ('a', 'b')": for messages.
std::string summarize(const LoadReport& report);

}  // namespace troika
