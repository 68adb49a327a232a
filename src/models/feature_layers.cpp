// Layers over features: linear layers and embeddings.
#include <algorithm>

#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"

namespace troika {
namespace {

// Returns the name of a parameter that the value is computed with; empty if there is none.
std::string parameter_before(const Graph& graph, ValueId value) {
  std::vector<bool> is_read(graph.values().size());
  is_read[value] = true;
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return is_read[id]; })) continue;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (graph.value(id).role == Role::parameter) return graph.value(id).name;
      is_read[id] = true;
    }
  }
  return {};
}

}  // namespace

ValueId add_linear(Model& model, const std::string& name, ValueId input, int64_t out_features, bool bias,
                   bool is_per_position) {
  const char* kind = is_per_position ? "linear_per_position" : "linear";
  Addition layer(model, "linear", name, kind);
  const Shape& x = layer.input(input);
  if (is_per_position && x.rank() != 3)
    fail_layer("linear", name, text("input has shape ", x, ", needs [batch, steps, features]"));
  if (!is_per_position && x.rank() != 2)
    fail_layer("linear", name, text("input has shape ", x, ", needs [batch, features]; flatten it first"));
  if (out_features < 1) fail_layer("linear", name, text("out_features is ", out_features, ", needs at least 1"));
  const int64_t in_features = x[x.rank() - 1];
  layer.parameter("weight", {DType::f32, {out_features, in_features}});
  if (bias)
    layer.parameter("bias", {DType::f32, {out_features}});
  else
    layer.absent();
  const Attributes attributes = is_per_position ? Attributes{{"per_position", int64_t{1}}} : Attributes();
  return layer.commit(attributes, linear_text(in_features, out_features, bias),
                      {{"out_features", out_features}, {"bias", int64_t{bias}}});
}

ValueId add_embedding(Model& model, const std::string& name, ValueId tokens, int64_t words, int64_t features) {
  Addition layer(model, "embedding", name);
  layer.input_of_tokens(tokens);
  if (const std::string parameter = parameter_before(model.graph(), tokens); !parameter.empty())
    fail_layer("embedding", name,
               text("input is computed with '", parameter, "', needs tokens, or numbers of the model's input"));
  if (words < 1 || words > INT32_MAX)
    fail_layer("embedding", name, text("words is ", words, ", needs 1 to ", INT32_MAX));
  if (features < 1) fail_layer("embedding", name, text("features is ", features, ", needs at least 1"));
  layer.parameter("weight", {DType::f32, {words, features}});
  return layer.commit({}, embedding_text(words, features), {{"words", words}, {"features", features}});
}

}  // namespace troika
