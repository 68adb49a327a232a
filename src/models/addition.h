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

// Returns the reason why a model cannot have that name: "has 0 bytes, needs 1 to 200". Empty if it
// can.
std::string refusal_of_model_name(const std::string& name);

// The model does not change until `commit`: shapes are inferred in a graph with only this layer. If
// `commit` fails, the model is as it was.
class Addition {
 public:
  // `kind` is the layer's in models/layer_kinds.h; null: named like the op.
  Addition(Graph& graph, LayerList& layers, ParameterStore& parameters, const char* op, const std::string& name,
           const char* kind = nullptr);

  // To be called in the order of the op's inputs. Returns the shape of the value, which must have
  // that type.
  const Shape& input(ValueId value, DType dtype = DType::f32);
  void parameter(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::parameter); }
  void buffer(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::buffer); }
  // An input that the layers of a model share; `id` is kNoValue until the first of them is added.
  void shared_input(const char* name, TensorType type, Role role, ValueId& id);
  void absent() { inputs_.push_back({kNoValue, {}, false}); }

  // A layer of one node. `settings` are those with which the layer's kind adds it again.
  ValueId commit(const Attributes& attributes, std::string description, Attributes settings = {});

  // A layer of several nodes: `append` appends them to a graph that has these inputs, and returns
  // the layer's output.
  using Append = std::function<ValueId(Graph& graph, const std::vector<ValueId>& inputs)>;
  ValueId commit_nodes(const Append& append, std::string description, Attributes settings);

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
  const std::string kind_;
  std::vector<Input> inputs_;
  ValueId* shared_id_ = nullptr;  // to be set to the id of the last input
};

}  // namespace troika
