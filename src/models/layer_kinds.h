// The kinds of layers, each with the call that adds a layer again from its settings: a model file
// stores kinds and settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace troika {

// A layer as a model file has it.
struct LayerCall {
  std::string name;
  std::vector<ValueId> inputs;
  Attributes settings;
};

struct LayerKind {
  std::string_view name;  // "conv2d": the C function's, after troika_model_add_
  size_t inputs;          // kAnyInputs: 1 or more
  // Throws INVALID_ARGUMENT or INTERNAL, and changes nothing, if the call does not fit.
  ValueId (*add)(Model& model, const LayerCall& call);
};

constexpr size_t kAnyInputs = SIZE_MAX;

// How the setting of a layer that shares a parameter begins: shared_weight="embedding.weight".
constexpr std::string_view kSharedSetting = "shared_";

const std::vector<LayerKind>& all_layer_kinds();
const LayerKind* find_layer_kind(std::string_view name);  // null: there is no such kind

}  // namespace troika
