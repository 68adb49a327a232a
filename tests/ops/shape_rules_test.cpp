// Tests of the ops' shape rules: the outputs for valid inputs, and a one-line error with the
// layer's name for each invalid input.
#include <gtest/gtest.h>

#include "core/text.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

using List = std::vector<int64_t>;

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

// Returns the types of the outputs of a node "stem" with inputs of these types. nullopt: an absent
// input.
std::vector<TensorType> infer(const std::string& op, const std::vector<std::optional<TensorType>>& types,
                              Attributes attributes = {}) {
  Graph graph("g");
  std::vector<ValueId> inputs;
  for (const auto& type : types) inputs.push_back(type ? graph.add_value("", *type, Role::input) : kNoValue);
  std::vector<TensorType> result;
  for (ValueId id : append_node(graph, op_named(op), "stem", inputs, std::move(attributes)))
    result.push_back(graph.type(id));
  return result;
}

#define EXPECT_REFUSED(message, ...) EXPECT_THROWS(Status::invalid_argument, message, __VA_ARGS__)

Attributes window(List kernel, List stride = {1, 1}, List padding = {0, 0}) {
  return {{"kernel", std::move(kernel)}, {"stride", std::move(stride)}, {"padding", std::move(padding)}};
}

Attributes conv(List kernel, List stride = {1, 1}, List padding = {0, 0}, List dilation = {1, 1}, int64_t groups = 1) {
  Attributes attributes = window(std::move(kernel), std::move(stride), std::move(padding));
  attributes.set("dilation", std::move(dilation));
  attributes.set("groups", groups);
  return attributes;
}

// ---- conv2d ----

TEST(Conv2dShape, FollowsKernelStridePaddingAndDilation) {
  EXPECT_EQ(infer("conv2d", {f32({2, 3, 224, 224}), f32({64, 3, 7, 7}), std::nullopt}, conv({7, 7}, {2, 2}, {3, 3}))[0],
            f32({2, 64, 112, 112}));
  EXPECT_EQ(
      infer("conv2d", {f32({1, 4, 9, 8}), f32({8, 2, 3, 2}), f32({8})}, conv({3, 2}, {2, 1}, {1, 0}, {2, 2}, 2))[0],
      f32({1, 8, 4, 6}));
}

TEST(Conv2dShape, RefusesAnInputThatIsNoImage) {
  EXPECT_REFUSED("conv2d 'stem': input has shape [2, 3], needs [batch, channels, height, width]",
                 infer("conv2d", {f32({2, 3}), f32({4, 3, 1, 1}), std::nullopt}, conv({1, 1})));
}

TEST(Conv2dShape, RefusesAnotherNumberOfChannels) {
  EXPECT_REFUSED("conv2d 'stem': input has 3 channels, weight expects 4",
                 infer("conv2d", {f32({2, 3, 8, 8}), f32({4, 4, 1, 1}), std::nullopt}, conv({1, 1})));
}

TEST(Conv2dShape, RefusesGroupsThatDoNotDivide) {
  const auto types = std::vector<std::optional<TensorType>>{f32({2, 4, 8, 8}), f32({6, 4, 1, 1}), std::nullopt};
  EXPECT_REFUSED("conv2d 'stem': groups is 4, must divide 4 input and 6 output channels",
                 infer("conv2d", types, conv({1, 1}, {1, 1}, {0, 0}, {1, 1}, 4)));
  EXPECT_REFUSED("groups is 0", infer("conv2d", types, conv({1, 1}, {1, 1}, {0, 0}, {1, 1}, 0)));
  EXPECT_REFUSED("groups is -1", infer("conv2d", types, conv({1, 1}, {1, 1}, {0, 0}, {1, 1}, -1)));
}

TEST(Conv2dShape, RefusesAWeightOrBiasOfAnotherShape) {
  EXPECT_REFUSED("conv2d 'stem': weight has shape [4, 3], needs [out, in / groups, 2, 2]",
                 infer("conv2d", {f32({2, 3, 8, 8}), f32({4, 3}), std::nullopt}, conv({2, 2})));
  EXPECT_REFUSED("conv2d 'stem': weight has shape [4, 3, 1, 1], needs [out, in / groups, 2, 2]",
                 infer("conv2d", {f32({2, 3, 8, 8}), f32({4, 3, 1, 1}), std::nullopt}, conv({2, 2})));
  EXPECT_REFUSED("weight has shape []", infer("conv2d", {f32({2, 3, 8, 8}), std::nullopt, std::nullopt}, conv({2, 2})));
  EXPECT_REFUSED("conv2d 'stem': bias has shape [5], needs [4]",
                 infer("conv2d", {f32({2, 3, 8, 8}), f32({4, 3, 1, 1}), f32({5})}, conv({1, 1})));
}

TEST(Conv2dShape, RefusesAnImageSmallerThanTheWindow) {
  EXPECT_REFUSED("conv2d 'stem': input of 2 x 9 is smaller than the kernel's 3 x 3 window",
                 infer("conv2d", {f32({2, 3, 2, 9}), f32({4, 3, 3, 3}), std::nullopt}, conv({3, 3})));
}

// The attributes of a convolution that pools, or of its gradient.
Attributes pooled(Attributes attributes) {
  attributes.set("pool", int64_t{1});
  return attributes;
}

TEST(Conv2dShape, HalvesItsResultIfItPools) {
  Graph g("g");
  std::vector<ValueId> inputs = {g.add_value("", f32({2, 3, 8, 6}), Role::input),
                                 g.add_value("", f32({5, 3, 3, 3}), Role::input), kNoValue};
  const auto outputs = append_node(g, op_named("conv2d"), "stem", inputs, pooled(conv({3, 3}, {1, 1}, {1, 1})));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(g.type(outputs[0]), f32({2, 5, 4, 3}));
  EXPECT_EQ(g.type(outputs[1]), (TensorType{DType::u8, {2, 5, 4, 3}}));
  EXPECT_EQ(cost_of(g, g.nodes()[0]).operations, 2.0 * 2 * 5 * 8 * 6 * 27) << "of the whole result";
}

TEST(Conv2dShape, RefusesToPoolOddSizesOrBesideSums) {
  const std::vector<std::optional<TensorType>> types = {f32({2, 3, 9, 6}), f32({5, 3, 3, 3}), std::nullopt};
  EXPECT_REFUSED("conv2d 'stem': pools an image of 9 x 6, needs even sizes",
                 infer("conv2d", types, pooled(conv({3, 3}, {1, 1}, {1, 1}))));
  Attributes both = pooled(conv({3, 3}, {1, 1}, {1, 1}));
  both.set("sums", int64_t{4});
  EXPECT_REFUSED("conv2d 'stem': returns sums of its result, and pools it; needs one of the two",
                 infer("conv2d", types, both));
}

TEST(Conv2dShape, NeedsTheMaskOfAPooledGradient) {
  const TensorType x = f32({2, 3, 8, 6}), weight = f32({5, 3, 3, 3}), dy = f32({2, 5, 4, 3}),
                   mask{DType::u8, {2, 5, 4, 3}}, wrong{DType::u8, {2, 5, 8, 6}};
  Attributes of_x = pooled(conv({3, 3}, {1, 1}, {1, 1})), of_weight = of_x;
  of_x.set("input_shape", List{2, 3, 8, 6});
  of_weight.set("weight_shape", List{5, 3, 3, 3});
  of_weight.set("bias", int64_t{0});
  EXPECT_EQ(infer("conv2d_input_gradient", {weight, dy, mask}, of_x)[0], x);
  EXPECT_EQ(infer("conv2d_weight_gradient", {x, dy, mask}, of_weight)[0], weight);
  for (const auto& [op, first, attributes] :
       {std::tuple{"conv2d_input_gradient", weight, of_x}, std::tuple{"conv2d_weight_gradient", x, of_weight}}) {
    EXPECT_REFUSED("has a mask of u8[2, 5, 8, 6], need u8[2, 5, 4, 3]", infer(op, {first, dy, wrong}, attributes));
    EXPECT_REFUSED("", infer(op, {first, dy}, attributes));
  }
  of_x.set("sums", int64_t{4});
  EXPECT_REFUSED("returns sums of its result, and reads a pooled gradient; needs one of the two",
                 infer("conv2d_input_gradient", {weight, dy, mask}, of_x));
}

TEST(Conv2dShape, RefusesSettingsThatMakeNoWindow) {
  const auto types = std::vector<std::optional<TensorType>>{f32({2, 3, 8, 8}), f32({4, 3, 1, 1}), std::nullopt};
  EXPECT_REFUSED("conv2d 'stem': kernel is 0 x 1, needs 1 to 1048576", infer("conv2d", types, conv({0, 1})));
  EXPECT_REFUSED("conv2d 'stem': stride is 1 x 0, needs 1 to 1048576", infer("conv2d", types, conv({1, 1}, {1, 0})));
  EXPECT_REFUSED("conv2d 'stem': padding is -1 x 0, needs 0 to 1048576",
                 infer("conv2d", types, conv({1, 1}, {1, 1}, {-1, 0})));
  EXPECT_REFUSED("conv2d 'stem': dilation is 0 x 1, needs 1 to 1048576",
                 infer("conv2d", types, conv({1, 1}, {1, 1}, {0, 0}, {0, 1})));
  EXPECT_REFUSED("conv2d 'stem': kernel, stride and padding need 2 numbers each", infer("conv2d", types, conv({1})));
}

TEST(Conv2dShape, RefusesAnotherNumberOfInputs) {
  EXPECT_REFUSED("conv2d 'stem': has 2 inputs, needs 3",
                 infer("conv2d", {f32({2, 3, 8, 8}), f32({4, 3, 1, 1})}, conv({1, 1})));
}

// ---- linear ----

TEST(LinearShape, CountsAllButTheBatchAsFeatures) {
  EXPECT_EQ(infer("linear", {f32({5, 2, 3}), f32({4, 6}), f32({4})})[0], f32({5, 4}));
}

TEST(LinearShape, RefusesWrongInputs) {
  EXPECT_REFUSED("linear 'stem': input has 7 features, weight expects 6",
                 infer("linear", {f32({5, 7}), f32({4, 6}), std::nullopt}));
  EXPECT_REFUSED("linear 'stem': input has shape [5], needs [batch, features]",
                 infer("linear", {f32({5}), f32({4, 6}), std::nullopt}));
  EXPECT_REFUSED("linear 'stem': weight has shape [6], needs [out, in]",
                 infer("linear", {f32({5, 6}), f32({6}), std::nullopt}));
  EXPECT_REFUSED("linear 'stem': bias has shape [6], needs [4]", infer("linear", {f32({5, 6}), f32({4, 6}), f32({6})}));
  EXPECT_REFUSED("linear 'stem': has 1 inputs, needs 3", infer("linear", {f32({5, 6})}));
}

// ---- batch_norm2d ----

std::vector<std::optional<TensorType>> batch_norm_inputs(Shape x, int64_t channels) {
  const TensorType c = f32({channels});
  return {f32(std::move(x)), c, c, c, c, TensorType{DType::i64, {}}, std::nullopt};
}

TEST(BatchNorm2dShape, GivesOutputMeanAndDeviation) {
  const Attributes attributes{{"eps", 1e-5}, {"momentum", 0.1}};
  const auto types = infer("batch_norm2d", batch_norm_inputs({2, 3, 4, 5}, 3), attributes);
  EXPECT_EQ(types, (std::vector<TensorType>{f32({2, 3, 4, 5}), f32({3}), f32({3})}));
  EXPECT_EQ(infer("batch_norm2d_inference", batch_norm_inputs({2, 3, 4, 5}, 3), attributes).size(), 1u);
}

TEST(BatchNorm2dShape, RefusesWrongInputs) {
  EXPECT_REFUSED("batch_norm2d 'stem': input has 3 channels, its parameters have shape [4]",
                 infer("batch_norm2d", batch_norm_inputs({2, 3, 4, 5}, 4)));
  EXPECT_REFUSED("batch_norm2d 'stem': input has shape [2, 3], needs [batch, channels, height, width]",
                 infer("batch_norm2d", batch_norm_inputs({2, 3}, 3)));
  auto with_residual = batch_norm_inputs({2, 3, 4, 5}, 3);
  with_residual[6] = f32({2, 3, 4, 4});
  EXPECT_REFUSED("batch_norm2d 'stem': residual has shape [2, 3, 4, 4], input has [2, 3, 4, 5]",
                 infer("batch_norm2d", with_residual));
  EXPECT_REFUSED("batch_norm2d 'stem': has 1 inputs, needs 7", infer("batch_norm2d", {f32({2, 3, 4, 5})}));
}

// ---- pools ----

TEST(PoolShape, FollowsKernelStrideAndPadding) {
  const auto types = infer("max_pool2d", {f32({2, 64, 112, 112})}, window({3, 3}, {2, 2}, {1, 1}));
  EXPECT_EQ(types, (std::vector<TensorType>{f32({2, 64, 56, 56}), {DType::i32, {2, 64, 56, 56}}}));
  EXPECT_EQ(infer("avg_pool2d", {f32({2, 20, 13, 9})}, window({2, 3}, {2, 3}))[0], f32({2, 20, 6, 3}));
  EXPECT_EQ(infer("adaptive_avg_pool2d", {f32({2, 20, 13, 9})}, {{"size", List{1, 2}}})[0], f32({2, 20, 1, 2}));
}

TEST(PoolShape, RefusesWrongInputs) {
  for (const std::string op : {"max_pool2d", "avg_pool2d"}) {
    EXPECT_REFUSED(op + " 'stem': input has shape [2, 3], needs [batch, channels, height, width]",
                   infer(op, {f32({2, 3})}, window({2, 2})));
    EXPECT_REFUSED(op + " 'stem': input of 4 x 1 is smaller than the 2 x 2 window",
                   infer(op, {f32({2, 3, 4, 1})}, window({2, 2})));
    EXPECT_REFUSED(op + " 'stem': padding is 2, may be at most half the kernel's 3",
                   infer(op, {f32({2, 3, 4, 4})}, window({3, 3}, {1, 1}, {0, 2})));
    EXPECT_REFUSED(op + " 'stem': stride is 0 x 1, needs 1 to 1048576",
                   infer(op, {f32({2, 3, 4, 4})}, window({2, 2}, {0, 1})));
    EXPECT_REFUSED(op + " 'stem': has 0 inputs, needs 1", infer(op, {}, window({2, 2})));
  }
  EXPECT_REFUSED("adaptive_avg_pool2d 'stem': output size is 0 x 1, needs at least 1 x 1",
                 infer("adaptive_avg_pool2d", {f32({2, 3, 4, 4})}, {{"size", List{0, 1}}}));
  EXPECT_REFUSED("adaptive_avg_pool2d 'stem': output size has 1 numbers, needs 2",
                 infer("adaptive_avg_pool2d", {f32({2, 3, 4, 4})}, {{"size", List{1}}}));
  EXPECT_REFUSED("adaptive_avg_pool2d 'stem': input has shape [2, 3]",
                 infer("adaptive_avg_pool2d", {f32({2, 3})}, {{"size", List{1, 1}}}));
  EXPECT_REFUSED("avg_pool2d_gradient 'stem': has 0 inputs",
                 infer("avg_pool2d_gradient", {}, {{"input_shape", List{1}}}));
  EXPECT_REFUSED("avg_pool2d_gradient 'stem': the ReLU's output is f32[2, 4], needs f32[2, 3]",
                 infer("avg_pool2d_gradient", {f32({2}), f32({2, 4})}, {{"input_shape", List{2, 3}}}));
}

// ---- the others ----

TEST(AddShape, RefusesInputsThatDiffer) {
  EXPECT_EQ(infer("add", {f32({2, 3}), f32({2, 3})})[0], f32({2, 3}));
  EXPECT_REFUSED("add 'stem': inputs have shapes [2, 3] and [2, 4], need the same",
                 infer("add", {f32({2, 3}), f32({2, 4})}));
  EXPECT_REFUSED("add 'stem': inputs are f32 and f64, need the same",
                 infer("add", {f32({2}), TensorType{DType::f64, {2}}}));
  EXPECT_REFUSED("add 'stem': has 1 inputs, needs 2", infer("add", {f32({2, 3})}));
}

TEST(ReshapeShape, KeepsTheBatch) {
  EXPECT_EQ(infer("reshape", {f32({2, 3, 4})}, {{"shape", List{-1}}})[0], f32({2, 12}));
  EXPECT_EQ(infer("reshape", {f32({2, 12})}, {{"shape", List{3, 4}}})[0], f32({2, 3, 4}));
  EXPECT_EQ(infer("reshape", {f32({2})}, {{"shape", List{-1}}})[0], f32({2, 1}));
}

TEST(ReshapeShape, RefusesAnotherNumberOfElements) {
  EXPECT_REFUSED("reshape 'stem': input has shape [2, 3], which cannot become [2, 4]",
                 infer("reshape", {f32({2, 3})}, {{"shape", List{4}}}));
  EXPECT_REFUSED("reshape 'stem': input is a scalar, needs [batch, ...]",
                 infer("reshape", {f32({})}, {{"shape", List{-1}}}));
}

TEST(DropoutShape, RefusesWrongSettings) {
  const TensorType counter{DType::i64, {2}};
  EXPECT_EQ(infer("dropout", {f32({2, 3}), counter}, {{"probability", 0.5}})[0], f32({2, 3}));
  EXPECT_REFUSED("dropout 'stem': probability is 1, needs at least 0 and below 1",
                 infer("dropout", {f32({2, 3}), counter}, {{"probability", 1.0}}));
  EXPECT_REFUSED("dropout 'stem': probability is -0.1",
                 infer("dropout", {f32({2, 3}), counter}, {{"probability", -0.1}}));
  EXPECT_REFUSED("dropout 'stem': probability is nan",
                 infer("dropout", {f32({2, 3}), counter}, {{"probability", std::stod("nan")}}));
  EXPECT_REFUSED("dropout 'stem': counter is f32[1], needs i64[2]",
                 infer("dropout", {f32({2, 3}), f32({1})}, {{"probability", 0.5}}));
}

TEST(CrossEntropyShape, RefusesWrongInputs) {
  const TensorType labels{DType::i32, {2}};
  EXPECT_EQ(infer("cross_entropy", {f32({2, 10}), labels}),
            (std::vector<TensorType>{{DType::f64, {1}}, {DType::i64, {1}}, f32({2, 10})}));
  EXPECT_EQ(infer("cross_entropy", {f32({2, 3, 4}), TensorType{DType::i32, {2, 3}}})[2], f32({2, 3, 4}));
  EXPECT_EQ(infer("cross_entropy", {f32({2, 9, 3, 4}), TensorType{DType::i32, {2, 3, 4}}})[2], f32({2, 9, 3, 4}));
  EXPECT_REFUSED("cross_entropy 'stem': labels are i32[2], needs i32[2, 3]",
                 infer("cross_entropy", {f32({2, 3, 4}), labels}));
  EXPECT_REFUSED("cross_entropy 'stem': the model's output has shape [2, 1, 1, 1, 3], needs [batch, classes], ",
                 infer("cross_entropy", {f32({2, 1, 1, 1, 3}), labels}));
  EXPECT_REFUSED("cross_entropy 'stem': labels are f32[2], needs i32[2]",
                 infer("cross_entropy", {f32({2, 10}), f32({2})}));
  EXPECT_REFUSED("cross_entropy 'stem': labels are i32[2], needs i32[3]",
                 infer("cross_entropy", {f32({3, 10}), labels}));
}

TEST(EmbeddingShape, RefusesWrongInputs) {
  const TensorType tokens{DType::i32, {2, 5}};
  EXPECT_EQ(infer("embedding", {tokens, f32({9, 4})}), (std::vector<TensorType>{f32({2, 5, 4})}));
  EXPECT_EQ(infer("embedding", {f32({2, 5}), f32({9, 4})}), (std::vector<TensorType>{f32({2, 5, 4})}));
  EXPECT_REFUSED("embedding 'stem': tokens are i64[2, 5], needs i32[batch, ...] or f32[batch, ...]",
                 infer("embedding", {TensorType{DType::i64, {2, 5}}, f32({9, 4})}));
  EXPECT_REFUSED("embedding 'stem': weight has shape [9], needs [words, features]",
                 infer("embedding", {tokens, f32({9})}));
}

TEST(MeanSquaredErrorShape, RefusesWrongInputs) {
  EXPECT_EQ(infer("own_loss", {f32({2, 4}), f32({2, 4})})[0], f32({2, 4}));
  EXPECT_REFUSED("own_loss 'stem': the gradient is f32[2, 5], the model's output f32[2, 4]",
                 infer("own_loss", {f32({2, 4}), f32({2, 5})}));
  for (const char* op : {"mean_squared_error", "mean_absolute_error", "huber", "binary_cross_entropy"})
    EXPECT_EQ(infer(op, {f32({2, 4}), f32({2, 4})})[0], (TensorType{DType::f64, {1}}));
  EXPECT_REFUSED("mean_squared_error 'stem': targets have shape [2, 5], the model's output [2, 4]",
                 infer("mean_squared_error", {f32({2, 4}), f32({2, 5})}));
  EXPECT_EQ(infer("mean_squared_error", {f32({2}), f32({2})})[0], (TensorType{DType::f64, {1}}));
  EXPECT_REFUSED("mean_squared_error 'stem': the model's output is one number",
                 infer("mean_squared_error", {f32({}), f32({})}));
}

// ---- updates ----

using Types = std::vector<std::optional<TensorType>>;

// Returns the types of the outputs of an update with the settings of row 1 of 2. `inputs` follow
// the update's first five inputs.
std::vector<TensorType> infer_update(const std::string& op, Types inputs, Attributes attributes = {}) {
  attributes.set("row", int64_t{1});
  return infer(op, inputs, std::move(attributes));
}

TEST(UpdateShape, TakesParametersGradientsAndSlots) {
  const TensorType w = f32({3}), v = f32({4, 2}), settings = f32({2, 4});
  const TensorType low{DType::bf16, {3}};
  EXPECT_TRUE(infer_update("sgd_update", {settings, {}, {}, {}, {}, w, w}, {{"slots", int64_t{0}}}).empty());
  EXPECT_TRUE(
      infer_update("sgd_update", {settings, {}, {}, {}, {}, w, w, w, v, v, v}, {{"slots", int64_t{1}}}).empty());
  EXPECT_TRUE(infer_update("sgd_update", {settings, {}, {}, {}, {}, w, low}, {{"slots", int64_t{0}}}).empty());
  const TensorType flag{DType::i32, {1}}, count{DType::i64, {2}};
  EXPECT_TRUE(infer_update("adam_update", {f32({2, 5}), f32({1}), flag, count, {}, v, v, v, v}, {{"slots", int64_t{2}}})
                  .empty());
}

TEST(UpdateShape, NamesTheOperandThatDoesNotFit) {
  const TensorType w = f32({3}), settings = f32({2, 4});
  const auto refuse = [](const std::string& problem, Types inputs, int64_t slots) {
    EXPECT_REFUSED("sgd_update 'stem': " + problem, infer_update("sgd_update", inputs, {{"slots", slots}}));
  };
  refuse("has 4 inputs, needs at least 5", {settings, {}, {}, {}}, 0);
  refuse("settings are f32[2, 3], need f32[rows, 4]", {f32({2, 3}), {}, {}, {}, {}, w, w}, 0);
  refuse("row is 1 of 1", {f32({1, 4}), {}, {}, {}, {}, w, w}, 0);
  refuse("factor is f32[2], needs f32[1]", {settings, f32({2}), {}, {}, {}, w, w}, 0);
  refuse("is_finite is f32[1], needs i32[1]", {settings, {}, f32({1}), {}, {}, w, w}, 0);
  refuse("count is i64[1], needs i64[2]", {settings, {}, {}, TensorType{DType::i64, {1}}, {}, w, w}, 0);
  refuse("has 6 inputs, needs 5 and a multiple of 2", {settings, {}, {}, {}, {}, w}, 0);
  refuse("gradient 0 is f32[4], the parameter is f32[3]", {settings, {}, {}, {}, {}, w, f32({4})}, 0);
  refuse("slot of parameter 0 is f32[4], the parameter is f32[3]", {settings, {}, {}, {}, {}, w, w, f32({4})}, 1);
  refuse("gradient 1 is bf16, gradient 0 is f32; all have one type",
         {settings, {}, {}, {}, {}, w, w, w, TensorType{DType::bf16, {3}}}, 0);
}

TEST(NormsShape, AreTwoNumbersForEachPlace) {
  const TensorType w = f32({3}), settings = f32({2, 5});
  const auto norms = [&](Types inputs, List places) {
    return infer_update("lars_norms", inputs, {{"slots", int64_t{0}}, {"places", places}, {"total", int64_t{3}}});
  };
  EXPECT_EQ(norms({settings, {}, {}, {}, {}, w, w, w, w}, {2, 0}), std::vector{f32({6})});
  EXPECT_EQ(norms({settings, {}, {}, {}, f32({6}), w, w}, {1}), std::vector{f32({6})});
  EXPECT_REFUSED("lars_norms 'stem': has 1 places, 2 parameters", norms({settings, {}, {}, {}, {}, w, w, w, w}, {1}));
  EXPECT_REFUSED("lars_norms 'stem': place is 3, norms are of 3 parameters",
                 norms({settings, {}, {}, {}, {}, w, w}, {3}));
  EXPECT_REFUSED("lars_norms 'stem': norms is f32[4], needs f32[6]",
                 norms({settings, {}, {}, {}, f32({4}), w, w}, {1}));
}

TEST(GradientFactorShape, IsANumberAndANormIfItClips) {
  const Attributes clips = {{"eps", 1e-6}, {"max_norm", 1.0}}, scales = {{"eps", 1e-6}, {"max_norm", 0.0}};
  const std::vector<TensorType> both = {f32({1}), f32({1})};
  EXPECT_EQ(infer("gradient_factor", {{}, f32({3}), f32({2, 2})}, clips), both);
  EXPECT_EQ(infer("gradient_factor", {f32({2}), f32({3})}, clips), both);
  EXPECT_EQ(infer("gradient_factor", {f32({2})}, scales), std::vector{f32({1})});
  EXPECT_REFUSED("gradient_factor 'stem': has 1 inputs, needs at least 2", infer("gradient_factor", {f32({2})}, clips));
  EXPECT_REFUSED("gradient_factor 'stem': has neither a loss scale nor max_norm above 0, needs one",
                 infer("gradient_factor", {{}}, scales));
  EXPECT_REFUSED("gradient_factor 'stem': max_norm is 0, and has 1 gradients, needs none",
                 infer("gradient_factor", {f32({2}), f32({3})}, scales));
  EXPECT_REFUSED("gradient_factor 'stem': gradient 1 is f16, needs f32",
                 infer("gradient_factor", {{}, f32({3}), TensorType{DType::f16, {3}}}, clips));
  EXPECT_REFUSED("gradient_factor 'stem': loss scale is f32[3], needs f32[2]",
                 infer("gradient_factor", {f32({3}), f32({3})}, clips));
}

// ---- sequences ----

TEST(RecurrentShape, FollowsStepsAndHiddenSize) {
  const auto lstm =
      infer("lstm", {f32({2, 5, 3}), f32({16, 3}), f32({16, 4}), f32({16}), f32({16}), std::nullopt, std::nullopt});
  EXPECT_EQ(lstm, (std::vector<TensorType>{f32({2, 5, 4}), f32({2, 4}), f32({2, 4}), f32({2, 5, 16}), f32({2, 5, 4})}));
  const auto gru = infer("gru", {f32({2, 5, 3}), f32({12, 3}), f32({12, 4}), std::nullopt, std::nullopt, f32({2, 4})});
  EXPECT_EQ(gru, (std::vector<TensorType>{f32({2, 5, 4}), f32({2, 4}), f32({2, 5, 16})}));
}

TEST(RecurrentShape, RefusesWeightsAndStatesThatDoNotFit) {
  const auto lstm = [](const TensorType& x, const TensorType& weight_ih, const TensorType& weight_hh,
                       std::optional<TensorType> bias_ih = {}, std::optional<TensorType> bias_hh = {},
                       std::optional<TensorType> h = {}) {
    return infer("lstm", {x, weight_ih, weight_hh, bias_ih, bias_hh, h, std::nullopt});
  };
  const TensorType x = f32({2, 5, 3}), weight_ih = f32({16, 3}), weight_hh = f32({16, 4}), bias = f32({16});
  EXPECT_REFUSED("lstm 'stem': input has shape [2, 3], needs [batch, steps, features]",
                 lstm(f32({2, 3}), weight_ih, weight_hh));
  EXPECT_REFUSED("lstm 'stem': weight_hh has shape [12, 4], needs [4 hidden, hidden]",
                 lstm(x, weight_ih, f32({12, 4})));
  EXPECT_REFUSED("lstm 'stem': weight_ih has shape [12, 3], needs [16, features]", lstm(x, f32({12, 3}), weight_hh));
  EXPECT_REFUSED("lstm 'stem': input has 3 features, weight_ih expects 7", lstm(x, f32({16, 7}), weight_hh));
  EXPECT_REFUSED("lstm 'stem': has one of its two biases, needs both or none", lstm(x, weight_ih, weight_hh, bias));
  EXPECT_REFUSED("lstm 'stem': bias has shape [4], needs [16]", lstm(x, weight_ih, weight_hh, bias, f32({4})));
  EXPECT_REFUSED("lstm 'stem': initial state has shape [2, 3], needs [2, 4]",
                 lstm(x, weight_ih, weight_hh, bias, bias, f32({2, 3})));
  EXPECT_REFUSED("gru 'stem': weight_hh has shape [16, 4], needs [3 hidden, hidden]",
                 infer("gru", {x, weight_ih, weight_hh, std::nullopt, std::nullopt, std::nullopt}));
}

TEST(StepsShape, AreThoseOfAllParts) {
  EXPECT_EQ(infer("split_steps", {f32({2, 5, 3})}, {{"steps", List{2, 3}}}),
            (std::vector<TensorType>{f32({2, 2, 3}), f32({2, 3, 3})}));
  EXPECT_EQ(infer("join_steps", {f32({2, 2, 3}), f32({2, 3, 3})}), std::vector<TensorType>{f32({2, 5, 3})});
  EXPECT_REFUSED("split_steps 'stem': parts have 4 steps, input has 5",
                 infer("split_steps", {f32({2, 5, 3})}, {{"steps", List{2, 2}}}));
  EXPECT_REFUSED("split_steps 'stem': a part has 0 steps, needs at least 1",
                 infer("split_steps", {f32({2, 5, 3})}, {{"steps", List{5, 0}}}));
  EXPECT_REFUSED("split_steps 'stem': input has shape [5], needs [batch, steps, ...]",
                 infer("split_steps", {f32({5})}, {{"steps", List{5}}}));
  EXPECT_REFUSED("join_steps 'stem': parts have shapes [2, 2, 3] and [2, 2, 4], may differ in their steps alone",
                 infer("join_steps", {f32({2, 2, 3}), f32({2, 2, 4})}));
  EXPECT_REFUSED("join_steps 'stem': has no inputs, needs at least 1", infer("join_steps", {}));
}

TEST(ChannelsShape, AreThoseOfEachRankAndOfAll) {
  const List widths = {3, 2};
  EXPECT_EQ(infer("slice_channels", {f32({2, 5, 4})}, {{"begin", int64_t{1}}, {"end", int64_t{3}}})[0], f32({2, 2, 4}));
  EXPECT_EQ(infer("channel_gather", {f32({2, 2, 4})}, {{"rank", int64_t{1}}, {"widths", widths}})[0], f32({40}));
  EXPECT_EQ(infer("join_channels", {f32({40})}, {{"shape", List{2, 5, 4}}, {"widths", widths}})[0], f32({2, 5, 4}));
  EXPECT_EQ(infer("part_channels", {f32({2, 5, 4})}, {{"widths", widths}})[0], f32({40}));
  EXPECT_EQ(
      infer("channel_scatter", {f32({40})}, {{"rank", int64_t{1}}, {"shape", List{2, 2, 4}}, {"widths", widths}})[0],
      f32({2, 2, 4}));
}

TEST(ChannelsShape, RefusesOtherNumbersOfChannels) {
  const List widths = {3, 2};
  EXPECT_REFUSED("channel_gather 'stem': input has shape [2, 3, 4], needs the channels of rank 1 on axis 1",
                 infer("channel_gather", {f32({2, 3, 4})}, {{"rank", int64_t{1}}, {"widths", widths}}));
  EXPECT_REFUSED("join_channels 'stem': input has 39 elements, cannot be joined to [2, 5, 4]",
                 infer("join_channels", {f32({39})}, {{"shape", List{2, 5, 4}}, {"widths", widths}}));
  EXPECT_REFUSED("part_channels 'stem': input has shape [2, 6, 4], needs 5 channels on axis 1",
                 infer("part_channels", {f32({2, 6, 4})}, {{"widths", widths}}));
  const auto scatter = [&](int64_t elements, int64_t rank) {
    return infer("channel_scatter", {f32({elements})}, {{"rank", rank}, {"shape", List{2, 2, 4}}, {"widths", widths}});
  };
  EXPECT_REFUSED("channel_scatter 'stem': input has 39 elements, needs those of all ranks, if rank 1 has [2, 2, 4]",
                 scatter(39, 1));
  EXPECT_REFUSED("channel_scatter 'stem': input has 40 elements, needs those of all ranks, if rank 0 has [2, 2, 4]",
                 scatter(40, 0));
}

TEST(Ops, AreFoundByTheirNames) {
  for (const OpDef* op : all_ops()) {
    EXPECT_EQ(&op_named(op->name), op);
    EXPECT_NE(op->infer, nullptr) << op->name;
  }
  EXPECT_THROWS(Status::internal, "op 'softmin' is not in ops.def", &op_named("softmin"));
}

TEST(Ops, RefuseOutputsWithTooManyElements) {
  const int64_t large = int64_t{1} << 30;
  EXPECT_REFUSED("linear 'stem': shape [1073741824, 2147483648] has too many elements",
                 infer("linear", {f32({large, 1}), f32({2 * large, 1}), std::nullopt}));
}

TEST(Ops, AreVerifiedAgainstTheirShapeRules) {
  EXPECT_THROWS(
      Status::internal, "relu 'a': output 0 has shape [3], its rule returns [2]",
      (verify(parse_graph("graph \"g\" { %0 : f32[2] input \"x\" (%1 : f32[3]) = relu(%0) \"a\" return %1 }")), 0));
  EXPECT_THROWS(Status::internal, "relu 'a' has 2 outputs, its rule returns 1",
                (verify(parse_graph(
                     "graph \"g\" { %0 : f32[2] input \"x\" (%1 : f32[2], %2 : f32[2]) = relu(%0) \"a\" return %1 }")),
                 0));
}

TEST(Cost, CountsTwoOperationsAMultiplication) {
  Graph graph("g");
  const ValueId x = graph.add_value("x", f32({2, 3, 8, 8}), Role::input),
                w = graph.add_value("w", f32({4, 3, 3, 3}), Role::parameter);
  append_node(graph, conv2d_op, "c", {x, w, kNoValue}, conv({3, 3}));
  const Cost cost = cost_of(graph, graph.nodes()[0]);
  EXPECT_EQ(cost.operations, 2.0 * (2 * 4 * 6 * 6) * (3 * 3 * 3));
  EXPECT_EQ(cost.bytes, 4.0 * (2 * 3 * 8 * 8 + 2 * 4 * 6 * 6)) << "x is read, and y written";
  EXPECT_EQ(cost.state_bytes, 4.0 * (4 * 3 * 3 * 3));
}

TEST(Cost, CountsStateThatIsReadAndWritten) {
  Graph graph("g");
  const ValueId settings = graph.add_value("settings", f32({1, 4}), Role::input),
                w = graph.add_value("w", f32({8}), Role::parameter),
                dw = graph.add_value("w", f32({8}), Role::gradient);
  append_node(graph, sgd_update_op, "sgd", {settings, kNoValue, kNoValue, kNoValue, kNoValue, w, dw},
              {{"row", int64_t{0}}, {"slots", int64_t{0}}});
  const Cost cost = cost_of(graph, graph.nodes()[0]);
  EXPECT_EQ(cost.bytes, 4.0 * 4) << "the settings";
  EXPECT_EQ(cost.state_bytes, 4.0 * (2 * 8 + 8));
}

}  // namespace
}  // namespace troika
