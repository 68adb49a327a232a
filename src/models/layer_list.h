// The layers of a model in the order in which they were added; the first is the input. Each
// question takes the same time for any number of layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace troika {

// One layer. It prints as "(conv1): Conv2d(1, 20, kernel_size=(3, 3), stride=(1, 1))".
struct Layer {
  std::string name = {};             // "layer1.0.conv1"
  std::string kind = {};             // "conv2d": the name in models/layer_kinds.h
  std::string description = {};      // "Conv2d(1, 20, kernel_size=(3, 3), stride=(1, 1))"
  Attributes settings = {};          // with which the kind adds this layer again
  std::vector<ValueId> inputs = {};  // outputs of other layers
  ValueId output = kNoValue;
  int64_t parameters = 0;  // elements of its parameters
  double operations = 0;   // of the forward pass for one sample
};

class LayerList {
 public:
  const std::vector<Layer>& all() const { return layers_; }
  std::optional<size_t> find(const std::string& name) const { return get(names_, name); }
  std::optional<size_t> find_output(ValueId value) const { return get(outputs_, value); }
  bool contains(const std::string& name) const { return names_.contains(name); }
  bool is_output(ValueId value) const { return outputs_.contains(value); }
  // Sums over all layers.
  int64_t parameters() const { return parameters_; }
  double operations() const { return operations_; }

  // If this throws, nothing has changed.
  void add(Layer layer);

 private:
  template <typename Key>
  static std::optional<size_t> get(const std::unordered_map<Key, size_t>& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<Layer> layers_;
  std::unordered_map<std::string, size_t> names_;
  std::unordered_map<ValueId, size_t> outputs_;
  int64_t parameters_ = 0;
  double operations_ = 0;
};

}  // namespace troika
