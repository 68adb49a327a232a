// Models by name, built with the same layer calls that hosts use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"

namespace troika {

struct ZooOptions {  // empty: the model's own default
  std::optional<int64_t> classes = {}, input_channels = {}, input_height = {}, input_width = {}, hidden = {},
                         steps = {};
};

// NOT_FOUND, listing the names, if there is no such model.
std::unique_ptr<Model> create_model(const std::string& name, const ZooOptions& options);
std::vector<std::string> model_names();
const char* model_name(size_t index);  // static text; null beyond the last

}  // namespace troika
