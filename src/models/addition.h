// One layer on its way into a model: the checks that every layer needs, and how it is added.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/model.h"

namespace troika {

// Throws INVALID_ARGUMENT "conv2d 'stem': <message>".
[[noreturn]] void fail_layer(const std::string& op, const std::string& name, const std::string& message);

// Throws INVALID_ARGUMENT if a layer cannot have that name.
void check_layer_name(const std::string& op, const std::string& name);

// Whether a host may pass the value on: it is the model's input, or the output of a layer.
bool is_layer_output(const Graph& graph, const LayerList& layers, ValueId value);

// The model does not change until `commit`: shapes are inferred in a graph with only this layer. If
// `commit` fails, the model is as it was.
class Addition {
 public:
  Addition(Graph& graph, LayerList& layers, ParameterStore& parameters, const char* op, const std::string& name);

  // To be called in the order of the op's inputs. Returns the shape of the value, which must have
  // that type.
  const Shape& input(ValueId value, DType dtype = DType::f32);
  void parameter(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::parameter); }
  void buffer(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::buffer); }
  void extra_input(const char* name, TensorType type, Role role);
  void absent() { inputs_.push_back({kNoValue, {}, false}); }

  // A layer of one node.
  ValueId commit(const Attributes& attributes, std::string description);

  // A layer of several nodes: `append` appends them to a graph that has these inputs, and returns
  // the layer's output.
  using Append = std::function<ValueId(Graph& graph, const std::vector<ValueId>& inputs)>;
  ValueId commit_nodes(const Append& append, std::string description);

 private:
  struct Input {
    ValueId id;
    Value value;
    bool is_new;
  };

  void state(const char* suffix, TensorType type, Role role);
  void check(const Append& append, Layer& layer) const;

  Graph& graph_;
  LayerList& layers_;
  ParameterStore& parameters_;
  const std::string op_;
  const std::string& name_;
  std::vector<Input> inputs_;
};

}  // namespace troika
