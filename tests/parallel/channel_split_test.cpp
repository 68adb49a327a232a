// Tests of splitting by channel: a rank's graph, a rank's parameters, and models that cannot be
// split.
#include "parallel/channel_split.h"

#include <gtest/gtest.h>

#include "core/text.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "ops/op_def.h"
#include "passes/graph_text.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op->name == op;
  return found;
}

std::vector<std::string> parameters_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) names.push_back(value.name);
  return names;
}

TEST(ChannelSplit, GoesByColumnThenByRow) {
  const auto model = create_model("mlp", {.classes = 3, .hidden = 5});
  const ChannelSplit split(model->graph(), 2);
  EXPECT_GRAPH(split.apply(model->graph(), 0), R"(
graph "mlp" {
  %0 : f32[1, 1, 28, 28] samples "x"
  %3 : f32[3, 784] parameter "fc1.weight"
  %4 : f32[3] parameter "fc1.bias"
  %7 : f32[3, 3] parameter "fc2.weight"
  %8 : f32[3] parameter "fc2.bias"
  (%1 : f32[1, 784]) = reshape(%0) "flatten" {shape=[-1]}
  (%2 : f32[1, 784]) = channel_copy(%1) "fc1"
  (%5 : f32[1, 3]) = linear(%2, %3, %4) "fc1"
  (%6 : f32[1, 3]) = relu(%5) "relu"
  (%9 : f32[1, 3]) = linear(%6, %7, %8) "fc2"
  (%10 : f32[1, 3]) = channel_sum(%9) "fc2"
  return %10
})");
  EXPECT_GRAPH(split.apply(model->graph(), 1), R"(
graph "mlp" {
  %0 : f32[1, 1, 28, 28] samples "x"
  %3 : f32[2, 784] parameter "fc1.weight"
  %4 : f32[2] parameter "fc1.bias"
  %7 : f32[3, 2] parameter "fc2.weight"
  (%1 : f32[1, 784]) = reshape(%0) "flatten" {shape=[-1]}
  (%2 : f32[1, 784]) = channel_copy(%1) "fc1"
  (%5 : f32[1, 2]) = linear(%2, %3, %4) "fc1"
  (%6 : f32[1, 2]) = relu(%5) "relu"
  (%8 : f32[1, 3]) = linear(%6, %7, _) "fc2"
  (%9 : f32[1, 3]) = channel_sum(%8) "fc2"
  return %9
})");
}

TEST(ChannelSplit, SumsOnceForTwoLinearLayers) {
  Model model("net");
  ValueId x = model.add_input("x", {8});
  for (const char* name : {"a", "b", "c", "d"})
    x = add_relu(model, text("relu_", name), add_linear(model, name, x, 8, true));
  model.set_output(x);
  const ChannelSplit split(model.graph(), 4);
  Graph graph = split.apply(model.graph(), 1);
  EXPECT_EQ(count(graph, "channel_sum"), 2);
  EXPECT_EQ(count(graph, "channel_scatter") + count(graph, "channel_gather"), 0);
  append_loss(graph, {.kind = Loss::mean_squared_error, .scale = 1});
  autodiff(graph, parameters_of(graph));
  EXPECT_EQ(count(graph, "channel_sum"), 2 + 1) << "backward of the third layer; nothing asks for x's gradient";
}

// BatchNorm, the residual and pooling work on a rank's own channels. Only products need the
// channels of several ranks.
TEST(ChannelSplit, ScattersSumsThatAreWorkedOnInParts) {
  const Window one{{1, 1}, {1, 1}, {0, 0}, {1, 1}};
  Model model("net");
  ValueId x = add_conv2d(model, "conv1", model.add_input("x", {1, 2, 2}), {4, one, 1, false});
  x = add_batch_norm2d(model, "bn", add_conv2d(model, "conv2", x, {3, one, 1, false}));
  model.set_output(add_linear(model, "fc", add_flatten(model, "flatten", x), 3, false));
  Graph graph = ChannelSplit(model.graph(), 2).apply(model.graph(), 1);
  append_loss(graph, {.kind = Loss::cross_entropy, .scale = 1});
  autodiff(graph, {"conv1.weight", "conv2.weight"});
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[1, 1, 2, 2] samples "x"
  %2 : f32[2, 1, 1, 1] parameter "conv1.weight"
  %4 : f32[3, 2, 1, 1] parameter "conv2.weight"
  %8 : f32[1] parameter "bn.weight"
  %9 : f32[1] parameter "bn.bias"
  %10 : f32[1] buffer "bn.running_mean"
  %11 : f32[1] buffer "bn.running_var"
  %12 : i64[] buffer "bn.num_batches_tracked"
  %17 : f32[3, 4] parameter "fc.weight"
  %20 : i32[1] targets "target"
  (%1 : f32[1, 1, 2, 2]) = channel_copy(%0) "conv1"
  (%3 : f32[1, 2, 2, 2]) = conv2d(%1, %2, _) "conv1" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%5 : f32[1, 3, 2, 2]) = conv2d(%3, %4, _) "conv2" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%6 : f32[12]) = part_channels(%5) "conv2" {widths=[2, 1]}
  (%7 : f32[1, 1, 2, 2]) = channel_scatter(%6) "conv2" {rank=1, shape=[1, 1, 2, 2], widths=[2, 1]}
  (%13 : f32[1, 1, 2, 2], %14 : f32[1], %15 : f32[1]) = batch_norm2d(%7, %8, %9, %10, %11, %12, _) "bn" {eps=1e-05, momentum=0.1}
  (%16 : f32[1, 4]) = reshape(%13) "flatten" {shape=[-1]}
  (%18 : f32[1, 3]) = linear(%16, %17, _) "fc"
  (%19 : f32[1, 3]) = channel_sum(%18) "fc"
  (%21 : f64[1], %22 : i64[1], %23 : f32[1, 3]) = cross_entropy(%19, %20) "loss" {scale=1.0}
  (%24 : f32[1, 3]) = cross_entropy_gradient(%23, %20) "loss" {scale=1.0}
  (%25 : f32[1, 4]) = linear_input_gradient(%17, %24) "fc" {input_shape=[1, 4]}
  (%26 : f32[1, 1, 2, 2]) = reshape(%25) "flatten" {shape=[1, 2, 2]}
  (%27 : f32[1, 1, 2, 2], %28 : f32[1], %29 : f32[1]) = batch_norm2d_gradient(%7, %8, %14, %15, _, %26) "bn" {relu=0, residual=0}
  (%30 : f32[12]) = channel_gather(%27) "conv2" {rank=1, widths=[2, 1]}
  (%31 : f32[1, 3, 2, 2]) = join_channels(%30) "conv2" {shape=[1, 3, 2, 2], widths=[2, 1]}
  (%32 : f32[3, 2, 1, 1] gradient "conv2.weight") = conv2d_weight_gradient(%3, %31) "conv2" {bias=0, dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[3, 2, 1, 1]}
  (%33 : f32[1, 2, 2, 2]) = conv2d_input_gradient(%4, %31) "conv2" {dilation=[1, 1], groups=1, input_shape=[1, 2, 2, 2], kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1]}
  (%34 : f32[2, 1, 1, 1] gradient "conv1.weight") = conv2d_weight_gradient(%1, %33) "conv1" {bias=0, dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[2, 1, 1, 1]}
  return loss %21, correct %22
})");
}

TEST(ChannelSplit, LeavesNothingOfAResNetWholeButItsOutput) {
  const auto model = create_model("d2l_resnet18", {});
  Graph graph = ChannelSplit(model->graph(), 4).apply(model->graph(), 1);
  verify(graph);
  // 17 convolutions and three shortcuts; the first convolution reads the whole image.
  EXPECT_EQ(count(graph, "channel_scatter"), 17 + 3 - 1);
  EXPECT_EQ(count(graph, "channel_sum"), 1) << "fc";
  EXPECT_EQ(count(graph, "channel_gather"), 0);
  for (const Node& node : graph.nodes())
    if (node.op == &batch_norm2d_op) {
      EXPECT_EQ(graph.type(node.inputs[0]).shape[1] * 4,
                model->graph().type(*model->graph().find(node.name + ".weight")).shape[0]);
    }
  append_loss(graph, {.kind = Loss::cross_entropy, .scale = 1});
  autodiff(graph, parameters_of(graph));
  verify(graph);
  EXPECT_EQ(count(graph, "channel_gather"), 17 + 3 - 1);
  EXPECT_EQ(count(graph, "channel_sum"), 1);
}

TEST(ChannelSplit, CutsEveryParameterOnce) {
  for (const char* name : {"d2l_lenet", "d2l_resnet18", "resnet50", "mlp"})
    for (int ranks : {2, 3, 4}) {
      const auto model = create_model(name, {});
      const ChannelSplit split(model->graph(), ranks);
      for (const Value& value : model->graph().values()) {
        if (!is_state(value.role)) continue;
        int64_t next = 0;
        int whole = 0, holders = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const StateSlice& slice = split.slice_of(value.name, rank);
          holders += slice.is_held;
          if (!slice.is_held) continue;
          if (slice.axis < 0) {
            ++whole;
            continue;
          }
          EXPECT_EQ(slice.range.begin, next) << value.name;
          EXPECT_GT(slice.range.size(), 0) << value.name;
          next = slice.range.end;
          if (rank + 1 == ranks) {
            EXPECT_EQ(next, value.type.shape[slice.axis]) << value.name;
          }
        }
        EXPECT_TRUE(whole == 0 ? holders == ranks : whole == holders) << value.name;
      }
      for (int rank = 0; rank < ranks; ++rank) {  // each rank's graph must have exactly the rank's own parameters
        const Graph graph = split.apply(model->graph(), rank);
        verify(graph);
        for (const Value& value : graph.values())
          EXPECT_TRUE(!is_state(value.role) || split.slice_of(value.name, rank).is_held) << value.name;
      }
    }
}

TEST(ChannelSplit, RefusesMoreRanksThanChannels) {
  const auto model = create_model("mlp", {.hidden = 9});
  EXPECT_THROWS(Status::invalid_argument, "linear 'fc1' has 9 output channels, cannot be split over 16 devices",
                ChannelSplit(model->graph(), 16));
}

}  // namespace
}  // namespace troika
