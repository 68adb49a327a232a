// The single-device module: a graph of named layers, built layer by layer, and the values of its
// parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/use.h"
#include "graph/graph.h"
#include "models/layer_list.h"
#include "models/parameter_store.h"

namespace troika {

enum class DefaultInitializer {
  pytorch,  // a layer's weight and bias uniform within 1 / sqrt(fan_in); BatchNorm 1 and 0; LSTM and GRU uniform within
            // 1 / sqrt(hidden), with either default
  tutorial,  // weights normal(0.01), biases 0; BatchNorm 1 and 0
};

Shape without_batch(const Shape& shape);  // of one sample

// The graph has batch 1. A plan uses a copy with the batch that it needs (passes/rebatch.cpp). The
// graph's input is "x", whatever the host calls it. Ops of training mode (batch_norm2d, dropout)
// stand for both modes.
class Model {
 public:
  explicit Model(std::string name);
  // Returns a model of the same layers that shares the values of parameters.
  std::shared_ptr<Model> clone() const;

  const std::string& name() const { return name_; }
  // A number from 1 to 2^31 - 1, which returns only after so many models of the process.
  int32_t serial() const { return serial_; }
  const Graph& graph() const { return graph_; }
  const std::vector<Layer>& layers() const { return layers_.all(); }  // the first is the input
  const LayerList& layer_list() const { return layers_; }
  bool is_complete() const { return !graph_.outputs.empty(); }
  Shape input_shape() const;  // without the batch
  DType input_dtype() const;
  Shape output_shape() const;  // without the batch
  const std::shared_ptr<ParameterStore>& parameters() const { return parameters_; }

  // Returns the input: f32, or i32 for tokens. Throws INVALID_ARGUMENT and changes nothing if
  // something does not fit. Other layers are functions (models/layers.h).
  ValueId add_input(const std::string& name, const Shape& sample, DType dtype = DType::f32);
  // Makes parameter `name` of a layer that is added later another name of parameter `of`.
  void share_parameter(const std::string& name, const std::string& of);
  void set_output(ValueId value);

  // Names the kind of a group of layers for printing: ("layer1.0", "BasicBlock"). Other groups
  // print as "Sequential".
  void name_container(const std::string& prefix, const std::string& kind);
  const std::vector<std::pair<std::string, std::string>>& containers() const { return containers_; }

  void set_default_initializer(DefaultInitializer initializer) { default_initializer_ = initializer; }
  DefaultInitializer default_initializer() const { return default_initializer_; }

  Use& busy() { return busy_; }

 private:
  friend class Addition;

  Model(const Model&) = default;
  const TensorType& input_type() const;  // with a batch

  std::string name_;
  int32_t serial_;
  Graph graph_;
  LayerList layers_;
  ValueId dropout_counter_ = kNoValue;  // {seed, step}, one for all dropouts
  std::vector<std::pair<std::string, std::string>> containers_;
  std::shared_ptr<ParameterStore> parameters_ = std::make_shared<ParameterStore>();
  DefaultInitializer default_initializer_ = DefaultInitializer::pytorch;
  Use busy_;
};

}  // namespace troika
