// Adding a layer to the list and to its indices.
#include "models/layer_list.h"

namespace troika {

void LayerList::add(Layer layer) {
  layers_.push_back(std::move(layer));
  const Layer& added = layers_.back();
  const size_t index = layers_.size() - 1;
  try {
    names_.emplace(added.name, index);
    outputs_.emplace(added.output, index);
  } catch (...) {
    names_.erase(added.name);
    layers_.pop_back();
    throw;
  }
  parameters_ += added.parameters;
  operations_ += added.operations;
}

}  // namespace troika
