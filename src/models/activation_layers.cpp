// Layers without parameters that change each number: activations, softmax and dropout.
#include <cmath>

#include "core/random.h"
#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"

namespace troika {

namespace {

ValueId add_activation(Model& model, const char* op, const char* description, const std::string& name, ValueId input) {
  Addition layer(model, op, name);
  layer.input(input);
  return layer.commit({}, description);
}

}  // namespace

ValueId add_relu(Model& model, const std::string& name, ValueId input) {
  return add_activation(model, "relu", "ReLU()", name, input);
}

ValueId add_gelu(Model& model, const std::string& name, ValueId input) {
  return add_activation(model, "gelu", "GELU(approximate='none')", name, input);
}

ValueId add_sigmoid(Model& model, const std::string& name, ValueId input) {
  return add_activation(model, "sigmoid", "Sigmoid()", name, input);
}

ValueId add_tanh(Model& model, const std::string& name, ValueId input) {
  return add_activation(model, "tanh", "Tanh()", name, input);
}

ValueId add_silu(Model& model, const std::string& name, ValueId input) {
  return add_activation(model, "silu", "SiLU()", name, input);
}

ValueId add_leaky_relu(Model& model, const std::string& name, ValueId input, double slope) {
  Addition layer(model, "leaky_relu", name);
  layer.input(input);
  if (!std::isfinite(slope)) fail_layer("leaky_relu", name, text("slope is ", slope, ", needs a finite number"));
  const Attributes settings = {{"slope", slope}};
  return layer.commit(settings, leaky_relu_text(slope), settings);
}

ValueId add_softmax(Model& model, const std::string& name, ValueId input, int64_t axis) {
  Addition layer(model, "softmax", name);
  layer.input(input);
  const Attributes settings = {{"axis", layer.axis(axis)}};
  return layer.commit(settings, text("Softmax(dim=", settings.integer("axis"), ")"), settings);
}

ValueId add_dropout(Model& model, const std::string& name, ValueId input, double probability) {
  Addition layer(model, "dropout", name);
  layer.input(input);
  layer.dropout_counter();
  return layer.commit(
      {{"probability", probability}, {"layer", static_cast<int64_t>(hash_name(name))}, {"sample_offset", int64_t{0}}},
      dropout_text(probability), {{"probability", probability}});
}

}  // namespace troika
