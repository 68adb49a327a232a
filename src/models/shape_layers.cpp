// Layers that join, divide and rearrange values, and that combine two of them number by number.
#include <algorithm>

#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"
#include "ops/op_def.h"

namespace troika {

ValueId add_flatten(Model& model, const std::string& name, ValueId input) {
  Addition layer(model, "reshape", name, "flatten");
  layer.input(input);
  return layer.commit({{"shape", std::vector<int64_t>{-1}}}, "Flatten(start_dim=1, end_dim=-1)");
}

ValueId add_sum(Model& model, const std::string& name, ValueId a, ValueId b) {
  Addition layer(model, "add", name, "sum");
  layer.input(a);
  layer.input(b);
  return layer.commit({}, "Add()");
}

ValueId add_product(Model& model, const std::string& name, ValueId a, ValueId b) {
  Addition layer(model, "multiply", name, "product");
  const Shape x = layer.input(a), y = layer.input(b);
  if (x.rank() != y.rank())
    fail_layer("product", name, text("inputs have shapes ", x, " and ", y, ", need the same number of axes"));
  return layer.commit(x == y ? Attributes() : Attributes{{"broadcast", int64_t{1}}}, "Product()");
}

ValueId add_concat(Model& model, const std::string& name, const std::vector<ValueId>& inputs, int64_t axis) {
  Addition layer(model, "join_steps", name, "concat");
  if (inputs.empty()) fail_layer("concat", name, "has no inputs, needs at least 1");
  for (const ValueId input : inputs) layer.input(input);
  const Attributes settings = {{"axis", layer.axis(axis)}};
  return layer.commit(settings, text("Concat(dim=", settings.integer("axis"), ")"), settings);
}

ValueId add_reshape(Model& model, const std::string& name, ValueId input, const std::vector<int64_t>& sample) {
  Addition layer(model, "reshape", name);
  const Shape x = layer.input(input);
  std::vector<int64_t> dims = sample;
  if (sample.empty() || std::ssize(sample) >= kMaxRank)
    fail_layer("reshape", name, text("a sample has rank ", sample.size(), ", needs 1 to ", kMaxRank - 1));
  if (const auto open = std::find(dims.begin(), dims.end(), -1); open != dims.end()) {
    *open = 1;
    for (const int64_t d : dims)
      if (d < 1)
        fail_layer("reshape", name, text("sizes are ", Shape(sample), ", needs one -1 at most, and others above 0"));
    *open = x.elements() / checked_elements(Shape(dims), text("reshape '", name, "'"));
  }
  for (const int64_t d : dims)
    if (d < 1)
      fail_layer("reshape", name, text("input has shape ", x, ", which cannot become [batch, ", Shape(sample), "]"));
  return layer.commit({{"shape", dims}}, reshape_text(dims), {{"shape", dims}});
}

ValueId add_slice(Model& model, const std::string& name, ValueId input, int64_t axis, int64_t begin, int64_t end) {
  Addition layer(model, "slice_channels", name, "slice");
  layer.input(input);
  const int64_t of = layer.axis(axis);
  return layer.commit({{"axis", of}, {"begin", begin}, {"end", end}},
                      text("Slice(dim=", of, ", ", begin, ":", end, ")"),
                      {{"axis", of}, {"begin", begin}, {"end", end}});
}

// One node per run of neighbouring axes, from the last run on: axes before a run keep their
// numbers.
ValueId add_mean(Model& model, const std::string& name, ValueId input, const std::vector<int64_t>& axes, bool keep) {
  Addition layer(model, "sum_axes", name, "mean");
  const int64_t rank = layer.input(input).rank();
  std::vector<int64_t> sorted;
  for (const int64_t axis : axes) sorted.push_back(layer.axis(axis));
  if (rank < 2) fail_layer("mean", name, "input has one number per sample, needs an axis after the batch");
  if (axes.empty())
    for (int64_t axis = 1; axis < rank; ++axis) sorted.push_back(axis);
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    fail_layer("mean", name, text("axis ", *twice, " is named twice"));
  const auto append = [&](Graph& graph, const std::vector<ValueId>& given) {
    ValueId y = given[0];
    for (size_t end = sorted.size(); end > 0;) {
      size_t begin = end - 1;
      while (begin > 0 && sorted[begin - 1] == sorted[begin] - 1) --begin;
      y = append_node(graph, sum_axes_op, name, {y},
                      {{"begin", sorted[begin]},
                       {"end", sorted[end - 1] + 1},
                       {"keep", int64_t{keep}},
                       {"mean", int64_t{1}},
                       {"factor", 1.0}})[0];
      end = begin;
    }
    return y;
  };
  return layer.commit_nodes(append, mean_text(sorted, keep), {{"axes", sorted}, {"keep", int64_t{keep}}});
}

}  // namespace troika
