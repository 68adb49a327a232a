// Adding a layer to the list and to its indices.
#include "models/layer_list.h"

namespace troika {

void LayerList::add(Layer layer, ValueId output) {
  const std::string name = layer.name;
  const int64_t parameters = layer.parameters;
  layers_.push_back(std::move(layer));
  try {
    names_.insert(name);
    outputs_.insert(output);
  } catch (...) {
    layers_.pop_back();
    names_.erase(name);
    throw;
  }
  parameters_ += parameters;
}

}  // namespace troika
