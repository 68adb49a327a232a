// One layer on its way into a model: the checks that every layer needs, and how it is added.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/layers.h"

namespace troika {

// Throws INVALID_ARGUMENT "conv2d 'stem': <message>".
[[noreturn]] void fail_layer(const std::string& op, const std::string& name, const std::string& message);

// Throws INVALID_ARGUMENT if a layer cannot have that name.
void check_layer_name(const std::string& op, const std::string& name);

// Returns the reason why a model cannot have that name: "has 0 bytes, needs 1 to 200". Empty if it
// can.
std::string refusal_of_model_name(const std::string& name);

// Returns the size of axis 1, or 1 if there is no such axis.
inline int64_t channels_of(const Shape& shape) { return shape.rank() > 1 ? shape[1] : 1; }

// The model does not change until `commit`: shapes are inferred in a graph with only this layer. If
// `commit` fails, the model is as it was.
class Addition {
 public:
  // `kind` is the layer's in models/layer_kinds.h; null: named like the op.
  Addition(Model& model, const char* op, const std::string& name, const char* kind = nullptr);

  // To be called in the order of the op's inputs. Returns the shape of the value, which must be
  // f32.
  const Shape& input(ValueId value);
  // Adds an input of tokens, i32 or f32.
  void input_of_tokens(ValueId value);
  // Returns the axis of the last input that a host means by `axis`: below 0 it counts from the end.
  // Refuses the batch.
  int64_t axis(int64_t axis) const;
  void parameter(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::parameter); }
  void buffer(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::buffer); }
  // The input {seed, step}, which all dropouts of a model share.
  void dropout_counter();
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
  void shared_parameter(const std::string& name, const char* suffix, const TensorType& type);
  void check(const Append& append, Layer& layer) const;

  Model& model_;
  Graph& graph_;
  LayerList& layers_;
  ParameterStore& parameters_;
  const std::string op_;
  const std::string& name_;
  const std::string kind_;
  std::vector<Input> inputs_;
  bool has_counter_ = false;  // as the last input
  Attributes sharing_;        // shared_weight="embedding.weight"
  std::vector<std::string> taken_names_;
};

}  // namespace troika
