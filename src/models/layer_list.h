// The layers of a model in the order in which they were added. Each question takes the same time
// for any number of layers.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace troika {

// One layer as it prints: "(conv1): Conv2d(1, 20, kernel_size=(3, 3), stride=(1, 1))".
struct Layer {
  std::string name;         // "layer1.0.conv1"
  std::string description;  // "Conv2d(1, 20, kernel_size=(3, 3), stride=(1, 1))"
  int64_t parameters = 0;   // elements of its parameters
};

class LayerList {
 public:
  const std::vector<Layer>& all() const { return layers_; }
  bool contains(const std::string& name) const { return names_.contains(name); }
  int64_t parameters() const { return parameters_; }  // elements of the parameters of all layers
  bool is_output(ValueId value) const { return outputs_.contains(value); }

  // Adds a layer whose output is `output`. If this throws, nothing has changed.
  void add(Layer layer, ValueId output);

 private:
  std::vector<Layer> layers_;
  std::unordered_set<std::string> names_;
  std::unordered_set<ValueId> outputs_;
  int64_t parameters_ = 0;
};

}  // namespace troika
