// The layers of a model as text, for a model file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/model.h"

namespace troika {

constexpr size_t kMaxModelTextBytes = size_t{1} << 24;

// Returns one line per layer, numbered from the input on, with its kind and its settings:
//
//   model 1 "net" {
//     initializer pytorch
//     container "layer1" "BasicBlock"
//     %0 : f32[784] = input() "x" {dtype="f32", shape=[784]}
//     %1 : f32[10] = linear(%0) "layer1.fc" {bias=1, out_features=10}
//     return %1
//   }
//
// The number after `model` is the version of the form. A model that is not complete has no
// `return`.
std::string print_model_text(const Model& model);

// Builds the model by the calls with which hosts add layers, so that the text meets the same
// checks. Throws CORRUPT if the text is not of the form or if a layer cannot be. Throws UNSUPPORTED
// if the version, a kind or a setting is unknown, or if the model is too large. `label` is the
// file's.
std::unique_ptr<Model> read_model_text(std::string_view source, const std::string& label);

}  // namespace troika
