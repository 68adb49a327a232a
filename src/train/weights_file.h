// Model files: parameters and buffers of a model as safetensors, under PyTorch's names, with the
// layers in the metadata. A weights file has no layers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/name_map.h"
#include "state/safetensors.h"

namespace troika {

struct LoadReport {
  // names; a mismatching name comes with the shape found and the shape needed
  std::vector<std::string> missing, unexpected, mismatching;
  int loaded = 0, kept = 0;
};

struct LoadOptions {
  bool allow_partial = false, skips_mismatching = false;
  std::string strip_prefix;
  std::vector<std::string> skip;  // patterns of the model's names
  NameMap names;                  // after strip_prefix
};

// The values of a file by the names that they have in a model.
class NamedEntries {
 public:
  // Entries whose name does not begin with `prefix` are left out. MISMATCH if two have one name, or
  // if a rule fits none.
  NamedEntries(const SafetensorsReader& reader, const std::string& prefix, const NameMap& names = {});
  const SafetensorsReader& reader() const { return reader_; }
  const TensorEntry* find(const std::string& name) const;
  // The values of parameter `i`: under its own name, or under one that a layer shares it by.
  const TensorEntry* find(const ParameterStore& store, size_t i) const;
  // Calls `visit` with the name in the model and the values of the file.
  template <typename Visit>
  void each(Visit&& visit) const {
    for (const auto& [name, entry] : entries_) visit(name, *entry);
  }
  // Returns an entry's name in the file, with that in the model if the map makes another one.
  std::string describe(const std::string& name, const TensorEntry& entry) const;

 private:
  const SafetensorsReader& reader_;
  std::map<std::string, const TensorEntry*> entries_;
};

// Runs `write` with a writer that has everything that a model file holds. The values are borrowed
// from the model: nobody changes them until `write` returns.
void save_model(Model& model, const std::function<void(const SafetensorsWriter&)>& write);

// Checks the whole file before anything changes. `report` is filled on MISMATCH too. If the file is
// a training state, the model's values are read from it.
void load_weights(Model& model, const SafetensorsReader& reader, const LoadOptions& options, LoadReport& report);

// Builds the model that the file describes, with its values. MISMATCH if the file has no layers.
std::unique_ptr<Model> open_model(const SafetensorsReader& reader);

// ---- shared with checkpoints ----

constexpr const char* kTrainingStateFormat = "troika.checkpoint.1";  // its metadata 'format'
constexpr const char* kLayersKey = "troika.model";                   // metadata: the text of models/model_text.h
constexpr const char* kModelPrefix = "model/";                       // before the names of parameters and buffers
constexpr const char* kOptimizerPrefix = "optimizer/";               // before slot_name

// Sets the metadata of a model file: its format, the model's name and layers, and the sum.
void set_model_metadata(SafetensorsWriter& writer, const Model& model);

bool is_training_state(const SafetensorsReader& reader);

// Adds every parameter and buffer under `prefix` + name; values are read when the file is written.
void add_parameters(SafetensorsWriter& writer, Model& model, const std::string& prefix);

// Returns the file's values for the model's entries, by entry; an empty vector if the file lacks
// the entry, or if a pattern of `skip` matches its name. Fills the report. The caller checks the
// sum.
std::vector<std::vector<std::byte>> read_parameters(const NamedEntries& entries, const Model& model,
                                                    const std::vector<std::string>& skip, LoadReport& report);

// "1 mismatching (...), 2 missing ('a', 'b')": for messages.
std::string summarize(const LoadReport& report);

}  // namespace troika
