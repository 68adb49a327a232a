// The JSON of a safetensors header: text to entries and back.
#pragma once

#include <string>
#include <string_view>

#include "state/safetensors_header.h"

namespace troika {

// Reads the JSON strictly: one object of the format's fields and types, integers only, no key
// twice. Entries are in the order of the text and are not checked against each other. Throws
// CORRUPT with `label` before the reason.
SafetensorsHeader parse_safetensors_json(std::string_view json, const std::string& label);

// Compact, as serde_json prints it: metadata first, if there are any, then the entries in their
// order.
std::string print_safetensors_json(const SafetensorsHeader& header);

}  // namespace troika
