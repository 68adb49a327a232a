// Splitting by layer: the layers of each stage of the pipeline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

// Stages are runs of consecutive layers, in the model's order.
class LayerStages {
 public:
  // Cuts the model into `stages` runs by cost (parallel/layer_cuts.h). If `first_layers` is not
  // empty, it names the layer that begins each stage except the first.
  LayerStages(const Graph& model, int stages, const std::vector<std::string>& first_layers = {});

  int count() const { return count_; }
  int stage_of(const std::string& layer) const;  // -1: no layer of the model
  // Returns the stage of the parameter or buffer. Throws INVALID_ARGUMENT if layers of several
  // stages share it.
  int stage_of_state(const std::string& name) const;

  // Returns the stage of each node of a graph that passes have made of the model. A node of a
  // layer: that layer's stage. The loss: the last stage. Any other node: the earliest stage among
  // its inputs, else that of its first reader.
  std::vector<int> assign(const Graph& graph) const;
  // Returns, for each value of that graph, whether a node of another stage than the maker's reads
  // the value.
  std::vector<bool> find_crossing(const Graph& graph) const;

 private:
  int count_;
  std::map<std::string, int> of_layer_;
  std::map<std::string, int> of_state_;
};

}  // namespace troika
