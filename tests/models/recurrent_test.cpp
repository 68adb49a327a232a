// Tests of LSTM, GRU and the choice of one step: their nodes, printing, initial values, and errors.
#include <gtest/gtest.h>

#include <cmath>

#include "core/text.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "models/print.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

#define EXPECT_REFUSED(message, ...)                                            \
  do {                                                                          \
    const std::string before = print_graph(model.graph()) + print_model(model); \
    const size_t parameters = model.parameters()->size();                       \
    EXPECT_THROWS(Status::invalid_argument, message, __VA_ARGS__);              \
    EXPECT_EQ(print_graph(model.graph()) + print_model(model), before);         \
    EXPECT_EQ(model.parameters()->size(), parameters);                          \
  } while (false)

std::vector<std::string> ops_of(const Model& model) {
  std::vector<std::string> ops;
  for (const Node& node : model.graph().nodes()) ops.push_back(std::string(node.op->name));
  return ops;
}

std::vector<float> values_of(Model& model, const std::string& name) {
  ParameterStore& store = *model.parameters();
  const size_t i = store.index_of(name);
  std::vector<float> values(static_cast<size_t>(store.entry(i).type.shape.elements()));
  store.read(i, values.data(), values.size() * sizeof(float));
  return values;
}

TEST(RecurrentLayer, AddsParametersByPyTorchsNames) {
  Model model("net");
  const ValueId x = model.add_input("x", {10, 6});
  EXPECT_EQ(model.graph().type(add_lstm(model, "lstm", x, 5, true)).shape, (Shape{1, 10, 5}));
  EXPECT_EQ(model.graph().type(add_gru(model, "gru", x, 3, false)).shape, (Shape{1, 10, 3}));
  const std::pair<const char*, Shape> expected[] = {{"lstm.weight_ih_l0", {20, 6}}, {"lstm.weight_hh_l0", {20, 5}},
                                                    {"lstm.bias_ih_l0", {20}},      {"lstm.bias_hh_l0", {20}},
                                                    {"gru.weight_ih_l0", {9, 6}},   {"gru.weight_hh_l0", {9, 3}}};
  ASSERT_EQ(model.parameters()->size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(model.parameters()->entry(i).name, expected[i].first);
    EXPECT_EQ(model.parameters()->entry(i).type, (TensorType{DType::f32, expected[i].second}));
  }
  EXPECT_EQ(model.layers()[1].parameters, 20 * (6 + 5 + 2));
  EXPECT_NO_THROW(verify(model.graph()));
  EXPECT_EQ(print_graph(parse_graph(print_graph(model.graph()))), print_graph(model.graph()));
}

TEST(RecurrentLayer, IsCutInTimeIntoPartsThatHandOnTheirStates) {
  Model model("net");
  const ValueId y = add_lstm(model, "lstm", model.add_input("x", {10, 6}), 5, true);  // 4, 3 and 3 steps
  EXPECT_EQ(ops_of(model), (std::vector<std::string>{"slice_channels", "lstm", "slice_channels", "lstm",
                                                     "slice_channels", "lstm", "join_steps"}));
  const auto& nodes = model.graph().nodes();
  EXPECT_EQ(nodes[1].inputs[5], kNoValue);
  for (size_t i : {3, 5})
    for (size_t state : {1, 2}) EXPECT_EQ(nodes[i].inputs[4 + state], nodes[i - 2].outputs[state]);
  EXPECT_EQ(model.graph().type(nodes[1].outputs[0]).shape, (Shape{1, 4, 5}));
  EXPECT_EQ(model.graph().type(nodes[5].outputs[0]).shape, (Shape{1, 3, 5}));
  add_gru(model, "gru", y, 2, true);
  const auto ops = ops_of(model);
  EXPECT_EQ(std::vector<std::string>(ops.begin() + 7, ops.end()),
            (std::vector<std::string>{"split_steps", "gru", "gru", "gru", "join_steps"}));
}

TEST(RecurrentLayer, IsOneNodeForShortSequencesAndNoMoreThanAThousandForAny) {
  Model of_one("net"), of_many("net");
  add_gru(of_one, "gru", of_one.add_input("x", {2, 6}), 5, true);
  EXPECT_EQ(ops_of(of_one), std::vector<std::string>{"gru"});
  add_gru(of_many, "gru", of_many.add_input("x", {int64_t{1} << 40, 1}), 1, true);
  EXPECT_EQ(of_many.graph().nodes().size(), 2001u);
}

TEST(RecurrentLayer, PrintsAsPyTorchDoes) {
  Model model("net");
  ValueId x = add_lstm(model, "lstm", model.add_input("x", {20, 64}), 128, true);
  x = add_gru(model, "gru", x, 7, false);
  add_select_step(model, "last", x, -1);
  EXPECT_EQ(model.layers()[1].description, "LSTM(64, 128, batch_first=True)");
  EXPECT_EQ(model.layers()[2].description, "GRU(128, 7, bias=False, batch_first=True)");
  EXPECT_EQ(model.layers()[3].description, "SelectStep(step=-1)");
}

TEST(RecurrentLayer, StartsUniformWithinTheRootOfItsHiddenSize) {
  Model model("net");
  add_lstm(model, "lstm", model.add_input("x", {4, 900}), 100, true);
  for (auto kind : {DefaultInitializer::pytorch, DefaultInitializer::tutorial}) {
    model.set_default_initializer(kind);
    initialize_default(model, 3, false);
    for (const char* name : {"lstm.weight_ih_l0", "lstm.weight_hh_l0", "lstm.bias_ih_l0", "lstm.bias_hh_l0"}) {
      float largest = 0;
      for (float v : values_of(model, name)) largest = std::max(largest, std::abs(v));
      EXPECT_LE(largest, 0.1f) << name;
      EXPECT_GT(largest, 0.098f) << name;
    }
    EXPECT_NE(values_of(model, "lstm.bias_ih_l0"), values_of(model, "lstm.bias_hh_l0"));
  }
}

TEST(RecurrentLayer, IsRefusedWhereItDoesNotFit) {
  Model model("net");
  const ValueId x = model.add_input("x", {2, 8, 8}), flat = add_flatten(model, "flat", x);
  EXPECT_REFUSED("lstm 'a': input has shape [1, 2, 8, 8], needs [batch, steps, features]",
                 add_lstm(model, "a", x, 3, true));
  EXPECT_REFUSED("gru 'a': input has shape [1, 128], needs [batch, steps, features]",
                 add_gru(model, "a", flat, 3, true));
  EXPECT_REFUSED("gru 'flat': the name is taken by another layer", add_gru(model, "flat", x, 3, true));
}

TEST(RecurrentLayer, IsRefusedWhereItsSizesAreAbsurd) {
  Model model("net");
  const ValueId x = model.add_input("x", {9, 6});
  for (int64_t hidden : {0, -1})
    EXPECT_REFUSED(text("lstm 'a': hidden is ", hidden, ", needs at least 1"), add_lstm(model, "a", x, hidden, true));
  EXPECT_REFUSED("has too many elements", add_gru(model, "a", x, INT32_MAX, true));
}

TEST(RecurrentLayer, GivesOutNothingOfItsInside) {
  Model model("net");
  add_lstm(model, "lstm", model.add_input("x", {9, 6}), 3, true);
  const auto nodes = model.graph().nodes();
  for (size_t i = 0; i + 1 < nodes.size(); ++i)
    EXPECT_REFUSED("is not an output of model 'net'", add_relu(model, "r", nodes[i].outputs[0]));
  EXPECT_NO_THROW(add_relu(model, "r", nodes.back().outputs[0]));
}

TEST(SelectStep, CountsFromTheFrontOrFromTheEnd) {
  Model model("net");
  const ValueId x = model.add_input("x", {9, 6});
  int64_t number = 0;
  for (auto [step, begin] : {std::pair{0, 0}, {8, 8}, {-1, 8}, {-9, 0}, {3, 3}}) {
    const ValueId y = add_select_step(model, text("step", number++), x, step);
    EXPECT_EQ(model.graph().type(y).shape, (Shape{1, 6}));
    const Node& slice = model.graph().nodes()[model.graph().nodes().size() - 2];
    EXPECT_EQ(slice.attributes.integer("begin"), begin);
    EXPECT_EQ(slice.attributes.integer("end"), begin + 1);
  }
}

TEST(SelectStep, RefusesAStepThatIsNotThere) {
  Model model("net");
  const ValueId x = model.add_input("x", {9, 6});
  for (int64_t step : {9, -10})
    EXPECT_REFUSED(text("select_step 's': step is ", step, ", input has 9 steps, needs -9 to 8"),
                   add_select_step(model, "s", x, step));
  const ValueId one = add_select_step(model, "one", x, 0);
  EXPECT_REFUSED("select_step 's': input has shape [1, 6], needs [batch, steps, features]",
                 add_select_step(model, "s", one, 0));
}

}  // namespace
}  // namespace troika
