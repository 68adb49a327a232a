// LSTM and GRU, cut in time into parts that recompute can drop one by one, and the layer that takes
// one step of a sequence.
#include <algorithm>
#include <cmath>

#include "core/split.h"
#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"

namespace troika {
namespace {

// Returns about sqrt(steps) parts of equal length. This minimises the sum of the states that are
// kept between parts and the values that are computed again inside one part (Chen et al. 2016).
std::vector<int64_t> cut_in_time(int64_t steps) {
  constexpr double kMostParts = 1000;  // so that graphs stay small whatever a host asks for
  const auto parts = static_cast<int64_t>(std::min(std::round(std::sqrt(static_cast<double>(steps))), kMostParts));
  std::vector<int64_t> cut;
  for (int64_t i = 0; i < parts; ++i) cut.push_back(balanced_split(steps, parts, i).size());
  return cut;
}

// The parts of x, each made when it is needed. Parts of the model's input need no gradient, and so
// no common node.
class Parts {
 public:
  Parts(Graph& graph, const std::string& name, ValueId x, std::vector<int64_t> steps)
      : graph_(graph), name_(name), x_(x), steps_(std::move(steps)) {
    if (steps_.size() > 1 && !is_input(graph.value(x).role))
      parts_ = append_node(graph, split_steps_op, name, {x}, {{"steps", steps_}});
  }

  size_t count() const { return steps_.size(); }
  ValueId next() {
    const int64_t begin = begin_, end = begin_ += steps_[next_];
    const size_t part = next_++;
    if (count() == 1) return x_;
    if (!parts_.empty()) return parts_[part];
    return append_node(graph_, slice_channels_op, name_, {x_}, {{"begin", begin}, {"end", end}})[0];
  }

 private:
  Graph& graph_;
  const std::string& name_;
  const ValueId x_;
  const std::vector<int64_t> steps_;
  std::vector<ValueId> parts_;
  size_t next_ = 0;
  int64_t begin_ = 0;
};

void check_hidden(const char* op, const std::string& name, int64_t hidden) {
  constexpr int64_t kMost = int64_t{1} << 48;  // sizes of weights can still be counted, and then be refused
  if (hidden < 1) fail_layer(op, name, text("hidden is ", hidden, ", needs at least 1"));
  if (hidden > kMost) fail_layer(op, name, text("hidden is ", hidden, ", needs at most ", kMost));
}

// One node per part of the sequence. Each begins with the states [n, hidden] with which the part
// before ends.
ValueId add_recurrent(Model& model, const char* op, const char* kind, int64_t gates, size_t states,
                      const std::string& name, ValueId input, int64_t hidden, bool bias) {
  Addition layer(model, op, name);
  const Shape& x = layer.input(input);
  if (x.rank() != 3) fail_layer(op, name, text("input has shape ", x, ", needs [batch, steps, features]"));
  check_hidden(op, name, hidden);
  const int64_t steps = x[1], features = x[2], rows = gates * hidden;
  layer.parameter("weight_ih_l0", {DType::f32, {rows, features}});
  layer.parameter("weight_hh_l0", {DType::f32, {rows, hidden}});
  for (const char* suffix : {"bias_ih_l0", "bias_hh_l0"})
    if (bias)
      layer.parameter(suffix, {DType::f32, {rows}});
    else
      layer.absent();
  const auto append = [&](Graph& graph, const std::vector<ValueId>& given) {
    Parts parts(graph, name, given[0], cut_in_time(steps));
    std::vector<ValueId> inputs = given, outputs;
    inputs.resize(given.size() + states, kNoValue);
    while (outputs.size() < parts.count()) {
      inputs[0] = parts.next();
      const std::vector<ValueId> made = append_node(graph, op_named(op), name, inputs);
      outputs.push_back(made[0]);
      std::copy_n(made.begin() + 1, states, inputs.end() - static_cast<std::ptrdiff_t>(states));
    }
    return outputs.size() == 1 ? outputs[0] : append_node(graph, join_steps_op, name, outputs)[0];
  };
  return layer.commit_nodes(append, recurrent_text(kind, features, hidden, bias),
                            {{"hidden", hidden}, {"bias", int64_t{bias}}});
}

}  // namespace

ValueId add_lstm(Model& model, const std::string& name, ValueId input, int64_t hidden, bool bias) {
  return add_recurrent(model, "lstm", "LSTM", 4, 2, name, input, hidden, bias);
}

ValueId add_gru(Model& model, const std::string& name, ValueId input, int64_t hidden, bool bias) {
  return add_recurrent(model, "gru", "GRU", 3, 1, name, input, hidden, bias);
}

ValueId add_select_step(Model& model, const std::string& name, ValueId input, int64_t step) {
  Addition layer(model, "select_step", name);
  const Shape& x = layer.input(input);
  if (x.rank() != 3) fail_layer("select_step", name, text("input has shape ", x, ", needs [batch, steps, features]"));
  if (step < -x[1] || step >= x[1])
    fail_layer("select_step", name,
               text("step is ", step, ", input has ", x[1], " steps, needs ", -x[1], " to ", x[1] - 1));
  const int64_t begin = step < 0 ? step + x[1] : step, features = x[2];
  // A sequence has its steps on the axis on which an image has its channels.
  const auto append = [&](Graph& graph, const std::vector<ValueId>& given) {
    const auto one = append_node(graph, slice_channels_op, name, {given[0]}, {{"begin", begin}, {"end", begin + 1}});
    return append_node(graph, reshape_op, name, one, {{"shape", std::vector<int64_t>{features}}})[0];
  };
  return layer.commit_nodes(append, text("SelectStep(step=", step, ")"), {{"step", step}});
}

}  // namespace troika
