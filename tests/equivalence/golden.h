// Small nets with the numbers of tests/golden, and what PyTorch computes with them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "golden/numbers.h"
#include "models/model.h"

namespace troika::golden {

// Reads a file of tests/golden/layers. Programs that were built elsewhere find it in TROIKA_ROOT.
inline nlohmann::json read_file(const std::string& name) {
  const char* root = std::getenv("TROIKA_ROOT");
  std::ifstream file(std::string(root ? root : TROIKA_SOURCE_DIR) + "/tests/golden/layers/" + name);
  return nlohmann::json::parse(file);
}

// Sets parameter number t, buffers not counted, to unit(t, i).
inline void set_parameters(Model& model) {
  ParameterStore& store = *model.parameters();
  uint32_t t = 0;
  for (size_t i = 0; i < store.size(); ++i) {
    if (store.entry(i).is_buffer) continue;
    const std::vector<float> values = units(t++, store.entry(i).type.shape.elements());
    store.write(i, values.data(), values.size() * sizeof(float));
  }
}

}  // namespace troika::golden
