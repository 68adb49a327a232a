// Tests of the layer calls: the added nodes, and errors. A refused call must change nothing.
#include "models/layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "core/text.h"
#include "models/print.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

Window square(int64_t kernel, int64_t stride = 1, int64_t padding = 0) {
  return {{kernel, kernel}, {stride, stride}, {padding, padding}, {1, 1}};
}
ConvOptions conv(int64_t out, int64_t kernel = 3) { return {out, square(kernel), 1, true}; }

// Returns everything that a call could change, as a text.
std::string state_of(const Model& model) {
  std::string state =
      print_graph(model.graph()) + print_model(model) + text(model.graph().values().size(), ' ', model.layers().size());
  for (size_t i = 0; i < model.parameters()->size(); ++i) state += model.parameters()->entry(i).name + '\n';
  return state;
}

class LayerTest : public ::testing::Test {
 protected:
  Model model{"net"};
  ValueId x = model.add_input("images", {4, 8, 8});
};

#define EXPECT_REFUSED(message, ...)                               \
  do {                                                             \
    const std::string before = state_of(model);                    \
    EXPECT_THROWS(Status::invalid_argument, message, __VA_ARGS__); \
    EXPECT_EQ(state_of(model), before);                            \
  } while (false)

TEST_F(LayerTest, InputIsCalledXAndHasBatchOne) {
  EXPECT_EQ(model.graph().value(x).name, "x");
  EXPECT_EQ(model.graph().type(x), (TensorType{DType::f32, {1, 4, 8, 8}}));
  EXPECT_EQ(model.input_shape(), (Shape{4, 8, 8}));
}

TEST_F(LayerTest, ConvolutionAddsItsNodeAndParameters) {
  const ValueId y = add_conv2d(model, "stem", x, {6, {{3, 2}, {2, 1}, {1, 0}, {1, 2}}, 2, true});
  EXPECT_EQ(model.graph().type(y).shape, (Shape{1, 6, 4, 6}));
  const Node& node = model.graph().nodes().at(0);
  EXPECT_EQ(node.attributes, (Attributes{{"kernel", std::vector<int64_t>{3, 2}},
                                         {"stride", std::vector<int64_t>{2, 1}},
                                         {"padding", std::vector<int64_t>{1, 0}},
                                         {"dilation", std::vector<int64_t>{1, 2}},
                                         {"groups", int64_t{2}}}));
  ASSERT_EQ(model.parameters()->size(), 2u);
  EXPECT_EQ(model.parameters()->entry(0).name, "stem.weight");
  EXPECT_EQ(model.parameters()->entry(0).type.shape, (Shape{6, 2, 3, 2}));
  EXPECT_EQ(model.parameters()->entry(1).type.shape, Shape{6});
  EXPECT_EQ(model.graph().find("stem.weight"), std::optional<ValueId>(node.inputs[1]));
  EXPECT_EQ(model.graph().value(node.inputs[1]).role, Role::parameter);
}

TEST_F(LayerTest, BatchNormAddsParametersThenBuffers) {
  add_batch_norm2d(model, "bn", x, 1e-3, 0.2);
  std::vector<std::string> entries;
  for (size_t i = 0; i < model.parameters()->size(); ++i) {
    const Parameter& p = model.parameters()->entry(i);
    entries.push_back(text(p.name, ' ', name_of(p.type.dtype), p.type.shape, p.is_buffer ? " buffer" : ""));
  }
  EXPECT_EQ(entries, (std::vector<std::string>{"bn.weight f32[4]", "bn.bias f32[4]", "bn.running_mean f32[4] buffer",
                                               "bn.running_var f32[4] buffer", "bn.num_batches_tracked i64[] buffer"}));
  const Node& node = model.graph().nodes().at(0);
  EXPECT_EQ(node.inputs.size(), 7u);
  EXPECT_EQ(node.inputs[6], kNoValue);
  EXPECT_EQ(model.graph().value(node.inputs[5]).role, Role::buffer);
  EXPECT_EQ(node.attributes.real("eps"), 1e-3);
  EXPECT_EQ(node.attributes.real("momentum"), 0.2);
}

TEST_F(LayerTest, LayersWithoutBiasHaveOneParameter) {
  ConvOptions options = conv(2);
  options.bias = false;
  const ValueId y = add_flatten(model, "flatten", add_conv2d(model, "c", x, options));
  add_linear(model, "fc", y, 3, false);
  EXPECT_EQ(model.parameters()->size(), 2u);
  EXPECT_EQ(model.graph().nodes()[0].inputs[2], kNoValue);
  EXPECT_EQ(model.graph().nodes()[2].inputs[2], kNoValue);
}

TEST_F(LayerTest, DropoutsShareOneCounterAndHaveKeysOfTheirOwn) {
  const ValueId y = add_dropout(model, "drop1", x, 0.5);
  add_dropout(model, "drop2", y, 0.25);
  const auto& nodes = model.graph().nodes();
  const ValueId counter = nodes[0].inputs[1];
  EXPECT_EQ(model.graph().value(counter).name, "dropout_counter");
  EXPECT_EQ(model.graph().value(counter).role, Role::counter);
  EXPECT_EQ(model.graph().type(counter), (TensorType{DType::i64, {2}}));
  EXPECT_EQ(nodes[1].inputs[1], counter);
  EXPECT_EQ(nodes[0].attributes.integer("layer"), static_cast<int64_t>(hash_name("drop1")));
  EXPECT_NE(nodes[0].attributes.integer("layer"), nodes[1].attributes.integer("layer"));
  EXPECT_EQ(nodes[0].attributes.integer("sample_offset"), 0);
  EXPECT_EQ(model.parameters()->size(), 0u);
  EXPECT_EQ(print_graph(parse_graph(print_graph(model.graph()))), print_graph(model.graph()));
}

TEST_F(LayerTest, PoolsKeepTheirSettings) {
  EXPECT_EQ(model.graph().type(add_max_pool2d(model, "max", x, square(3, 2, 1))).shape, (Shape{1, 4, 4, 4}));
  EXPECT_EQ(model.graph().type(add_avg_pool2d(model, "avg", x, square(2, 2), false)).shape, (Shape{1, 4, 4, 4}));
  EXPECT_EQ(model.graph().nodes()[1].attributes.integer("count_include_pad"), 0);
  EXPECT_EQ(model.graph().type(add_adaptive_avg_pool2d(model, "adaptive", x, 2, 3)).shape, (Shape{1, 4, 2, 3}));
}

TEST_F(LayerTest, CompletesWithAnOutput) {
  const ValueId y = add_relu(model, "relu", x);
  EXPECT_FALSE(model.is_complete());
  EXPECT_THROWS(Status::invalid_argument, "model 'net' is not complete", model.output_shape());
  model.set_output(y);
  EXPECT_TRUE(model.is_complete());
  EXPECT_EQ(model.output_shape(), (Shape{4, 8, 8}));
  EXPECT_NO_THROW(verify(model.graph()));
}

TEST_F(LayerTest, CountsItsParameters) {
  add_conv2d(model, "c", x, conv(6));
  add_batch_norm2d(model, "bn", x);
  add_relu(model, "relu", x);
  EXPECT_EQ(model.layers()[1].parameters, 6 * 4 * 9 + 6);
  EXPECT_EQ(model.layers()[2].parameters, 8);
  EXPECT_EQ(model.layers()[3].parameters, 0);
}

// ---- refused ----

TEST_F(LayerTest, RefusesNamesThatAreNone) {
  EXPECT_REFUSED("relu: name is empty", add_relu(model, "", x));
  EXPECT_REFUSED("relu: name has 201 bytes, may have at most 200", add_relu(model, std::string(201, 'a'), x));
  EXPECT_REFUSED("relu: name has a control character at byte 1", add_relu(model, "a\nb", x));
  EXPECT_REFUSED("relu: name has a control character at byte 0", add_relu(model, std::string(1, '\0'), x));
  EXPECT_REFUSED("relu: name has a control character at byte 0", add_relu(model, "\x7f", x));
  EXPECT_REFUSED("relu: name 'a/b' has a '/'", add_relu(model, "a/b", x));
  for (const char* name : {".a", "a.", "a..b", "."})
    EXPECT_REFUSED(text("relu: name '", name, "' has an empty part"), add_relu(model, name, x));
  EXPECT_NO_THROW(add_relu(model, std::string(200, 'a'), x));
  EXPECT_NO_THROW(add_relu(model, "Schicht \"\xc3\xa4\" 1", x));
}

TEST_F(LayerTest, RefusesANameThatIsTaken) {
  add_conv2d(model, "stem", x, conv(2));
  EXPECT_REFUSED("relu 'stem': the name is taken by another layer", add_relu(model, "stem", x));
  EXPECT_REFUSED("conv2d 'stem': the name is taken", add_conv2d(model, "stem", x, conv(2)));
}

TEST_F(LayerTest, RefusesValuesThatAreNoLayersOutput) {
  add_conv2d(model, "stem", x, conv(2));
  const ValueId weight = *model.graph().find("stem.weight");
  add_max_pool2d(model, "pool", x, square(2));
  const ValueId indices = model.graph().nodes().back().outputs[1];
  add_dropout(model, "drop", x, 0.5);
  for (ValueId value : {weight, indices, *model.graph().find("dropout_counter"), ValueId{9999}, kNoValue}) {
    EXPECT_REFUSED(text("relu 'r': value ", value, " is not an output of model 'net'"), add_relu(model, "r", value));
    EXPECT_REFUSED("is not an output of model 'net'", add_sum(model, "s", x, value));
    EXPECT_REFUSED("is not an output of the model", (model.set_output(value), 0));
  }
}

TEST_F(LayerTest, RefusesASecondInput) {
  EXPECT_REFUSED("input 'more': model 'net' has an input already", model.add_input("more", {3}));
}

TEST_F(LayerTest, RefusesLayersBehindTheOutput) {
  const ValueId y = add_relu(model, "relu", x);
  model.set_output(y);
  EXPECT_REFUSED("relu 'more': model 'net' is complete, no layer can be added", add_relu(model, "more", y));
  EXPECT_REFUSED("model 'net' is complete, its output is set already", (model.set_output(y), 0));
}

TEST_F(LayerTest, RefusesTheInputAsOutput) {
  EXPECT_REFUSED("model 'net': the input cannot be the output", (model.set_output(x), 0));
}

TEST_F(LayerTest, RefusesConvolutionsThatDoNotFit) {
  EXPECT_REFUSED("conv2d 'c': out_channels is 0, needs at least 1", add_conv2d(model, "c", x, conv(0)));
  EXPECT_REFUSED("conv2d 'c': input of 8 x 8 is smaller than the kernel's 9 x 9 window",
                 add_conv2d(model, "c", x, conv(2, 9)));
  EXPECT_REFUSED("conv2d 'c': kernel is 0 x 0, needs 1 to 1048576", add_conv2d(model, "c", x, conv(2, 0)));
  ConvOptions options = conv(6);
  for (int64_t groups : {3, 0, -2}) {
    options.groups = groups;
    EXPECT_REFUSED(text("conv2d 'c': groups is ", groups, ", must divide 4 input and 6 output channels"),
                   add_conv2d(model, "c", x, options));
  }
  const ValueId flat = add_flatten(model, "flatten", x);
  EXPECT_REFUSED("conv2d 'c': input has shape [1, 256], needs [batch, channels, height, width]",
                 add_conv2d(model, "c", flat, conv(2)));
}

TEST_F(LayerTest, RefusesLinearLayersThatDoNotFit) {
  EXPECT_REFUSED("linear 'fc': input has shape [1, 4, 8, 8], needs [batch, features]; flatten it first",
                 add_linear(model, "fc", x, 3, true));
  const ValueId flat = add_flatten(model, "flatten", x);
  EXPECT_REFUSED("linear 'fc': out_features is -1, needs at least 1", add_linear(model, "fc", flat, -1, true));
}

TEST_F(LayerTest, RefusesBatchNormsThatDoNotFit) {
  for (double eps : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_REFUSED("batch_norm2d 'bn': eps is ", add_batch_norm2d(model, "bn", x, eps));
  for (double momentum : {-0.1, 1.1, std::nan(""), HUGE_VAL})
    EXPECT_REFUSED("batch_norm2d 'bn': momentum is ", add_batch_norm2d(model, "bn", x, 1e-5, momentum));
  const ValueId flat = add_flatten(model, "flatten", x);
  EXPECT_REFUSED("batch_norm2d 'bn': input has shape [1, 256], needs [batch, channels, height, width]",
                 add_batch_norm2d(model, "bn", flat));
}

TEST_F(LayerTest, RefusesPoolsThatDoNotFit) {
  EXPECT_REFUSED("max_pool2d 'p': padding is 2, may be at most half the kernel's 3",
                 add_max_pool2d(model, "p", x, square(3, 1, 2)));
  EXPECT_REFUSED("avg_pool2d 'p': input of 8 x 8 is smaller than the 9 x 9 window",
                 add_avg_pool2d(model, "p", x, square(9)));
  EXPECT_REFUSED("max_pool2d 'p': a dilation other than 1 is not supported",
                 add_max_pool2d(model, "p", x, {{2, 2}, {1, 1}, {0, 0}, {2, 1}}));
  EXPECT_REFUSED("adaptive_avg_pool2d 'p': output size is 1 x 0", add_adaptive_avg_pool2d(model, "p", x, 1, 0));
}

TEST_F(LayerTest, RefusesSumsAndDropoutsThatDoNotFit) {
  const ValueId pooled = add_max_pool2d(model, "pool", x, square(2, 2));
  EXPECT_REFUSED("sum 's': inputs have shapes [1, 4, 8, 8] and [1, 4, 4, 4], need the same",
                 add_sum(model, "s", x, pooled));
  for (double p : {1.0, -0.5, std::nan("")})
    EXPECT_REFUSED("dropout 'd': probability is ", add_dropout(model, "d", x, p));
}

TEST_F(LayerTest, RefusesAbsurdSizes) {
  ConvOptions options = conv(INT64_C(1) << 40, 3);
  EXPECT_NO_THROW(add_conv2d(model, "large", x, options));  // a value that is never used needs no memory
  options.out_channels = INT64_MAX;
  EXPECT_REFUSED("has too many elements", add_conv2d(model, "c", x, options));
  options.out_channels = INT64_C(1) << 54;
  options.window = square(16, 1, 8);
  EXPECT_REFUSED("has too many elements", add_conv2d(model, "c", x, options));
  EXPECT_REFUSED("has too many elements", add_adaptive_avg_pool2d(model, "p", x, INT32_MAX, INT64_C(1) << 40));
}

TEST_F(LayerTest, RefusesMoreParametersThanCanBeCounted) {
  const ValueId flat = add_flatten(model, "flatten", x);  // 256 features
  add_linear(model, "half", flat, INT64_C(1) << 51, false);
  EXPECT_REFUSED("linear 'rest': the model would have ",
                 add_linear(model, "rest", flat, (INT64_C(1) << 51) + 1, false));
}

TEST(ModelInput, IsRefusedWhereItIsNone) {
  Model model("net");
  EXPECT_REFUSED("input 'x': a sample has rank 0, needs 1 to 7", model.add_input("x", {}));
  EXPECT_REFUSED("input 'x': a sample has rank 8, needs 1 to 7", model.add_input("x", {1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_REFUSED("input 'x': a sample has shape [3, 0], needs sizes of at least 1", model.add_input("x", {3, 0}));
  EXPECT_REFUSED("input 'x': a sample has shape [-1], needs sizes of at least 1", model.add_input("x", {-1}));
  EXPECT_REFUSED("input 'x': shape [1, 9223372036854775807, 2] has too many elements",
                 model.add_input("x", {INT64_MAX, 2}));
  EXPECT_REFUSED("input: name is empty", model.add_input("", {3}));
  EXPECT_REFUSED("model 'net' has no input yet", model.input_shape());
  EXPECT_REFUSED("relu 'r': value 0 is not an output of model 'net'", add_relu(model, "r", 0));
}

}  // namespace
}  // namespace troika
