// Tests of recompute: the dropped values, and the copies of nodes that recompute them, as text.
#include "passes/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

// Returns the graph after autodiff, with all parameters trained.
Graph differentiated(const std::string& source) {
  Graph graph = parse_graph(source);
  std::vector<std::string> trainable;
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) trainable.push_back(value.name);
  autodiff(graph, trainable);
  return graph;
}

Graph recomputed(Graph graph, const Dropped& dropped) {
  recompute(graph, dropped);
  verify(graph);
  return graph;
}

int count_dropped(const Dropped& dropped) { return static_cast<int>(std::count(dropped.begin(), dropped.end(), true)); }

constexpr const char* kPerceptron = R"(
graph "mlp" {
  %0 : f32[2, 4] samples "x"
  %1 : f32[4, 4] parameter "fc1.weight"
  %2 : f32[4, 4] parameter "fc2.weight"
  %3 : f32[4, 4] parameter "fc3.weight"
  %4 : f32[4, 4] parameter "fc4.weight"
  %5 : f32[2, 4] targets "target"
  (%6 : f32[2, 4]) = linear(%0, %1, _) "fc1" {relu=1}
  (%7 : f32[2, 4]) = linear(%6, %2, _) "fc2" {relu=1}
  (%8 : f32[2, 4]) = linear(%7, %3, _) "fc3" {relu=1}
  (%9 : f32[2, 4]) = linear(%8, %4, _) "fc4"
  (%10 : f64[1]) = mean_squared_error(%9, %5) "loss" {scale=1.0}
)";

// Half of the bytes that the backward pass reads are computed before fc3. %7 crosses this border
// and is kept; %6 is recomputed right before it is read; %8 and %9 belong to the last segment.
TEST(Recompute, KeepsWhatCrossesASegmentAndMakesTheRestAgainWhereItIsRead) {
  const Graph graph = differentiated(text(kPerceptron, "return %10 }"));
  EXPECT_GRAPH(recomputed(graph, drop_segments(graph, 2)), text(kPerceptron, R"(
  (%11 : f32[2, 4]) = mean_squared_error_gradient(%9, %5) "loss" {scale=1.0}
  (%12 : f32[4, 4] gradient "fc4.weight") = linear_weight_gradient(%8, %11) "fc4" {bias=0}
  (%13 : f32[2, 4]) = linear_input_gradient(%4, %11) "fc4" {input_shape=[2, 4]}
  (%14 : f32[2, 4]) = relu_gradient(%8, %13) "fc3"
  (%15 : f32[4, 4] gradient "fc3.weight") = linear_weight_gradient(%7, %14) "fc3" {bias=0}
  (%16 : f32[2, 4]) = linear_input_gradient(%3, %14) "fc3" {input_shape=[2, 4]}
  (%17 : f32[2, 4]) = relu_gradient(%7, %16) "fc2"
  (%22 : f32[2, 4]) = linear(%0, %1, _) "fc1" {relu=1}
  (%18 : f32[4, 4] gradient "fc2.weight") = linear_weight_gradient(%22, %17) "fc2" {bias=0}
  (%19 : f32[2, 4]) = linear_input_gradient(%2, %17) "fc2" {input_shape=[2, 4]}
  (%20 : f32[2, 4]) = relu_gradient(%22, %19) "fc1"
  (%21 : f32[4, 4] gradient "fc1.weight") = linear_weight_gradient(%0, %20) "fc1" {bias=0}
  return %10 })"));
}

TEST(Recompute, MakesALayersOutputAgainFromTheOneBeforeIt) {
  const Graph graph = differentiated(text(kPerceptron, "return %10 }"));
  EXPECT_GRAPH(recomputed(graph, drop_layers(graph, {"fc2", "fc4"})), text(kPerceptron, R"(
  (%22 : f32[2, 4]) = linear(%8, %4, _) "fc4"
  (%11 : f32[2, 4]) = mean_squared_error_gradient(%22, %5) "loss" {scale=1.0}
  (%12 : f32[4, 4] gradient "fc4.weight") = linear_weight_gradient(%8, %11) "fc4" {bias=0}
  (%13 : f32[2, 4]) = linear_input_gradient(%4, %11) "fc4" {input_shape=[2, 4]}
  (%14 : f32[2, 4]) = relu_gradient(%8, %13) "fc3"
  (%23 : f32[2, 4]) = linear(%6, %2, _) "fc2" {relu=1}
  (%15 : f32[4, 4] gradient "fc3.weight") = linear_weight_gradient(%23, %14) "fc3" {bias=0}
  (%16 : f32[2, 4]) = linear_input_gradient(%3, %14) "fc3" {input_shape=[2, 4]}
  (%17 : f32[2, 4]) = relu_gradient(%23, %16) "fc2"
  (%18 : f32[4, 4] gradient "fc2.weight") = linear_weight_gradient(%6, %17) "fc2" {bias=0}
  (%19 : f32[2, 4]) = linear_input_gradient(%2, %17) "fc2" {input_shape=[2, 4]}
  (%20 : f32[2, 4]) = relu_gradient(%6, %19) "fc1"
  (%21 : f32[4, 4] gradient "fc1.weight") = linear_weight_gradient(%0, %20) "fc1" {bias=0}
  return %10 })"));
}

TEST(Recompute, LeavesTheGraphAsItIsWhereNothingIsDropped) {
  const Graph graph = differentiated(text(kPerceptron, "return %10 }"));
  for (int64_t segments : {0, 1}) {
    EXPECT_EQ(count_dropped(drop_segments(graph, segments)), 0) << segments;
    EXPECT_EQ(print_graph(recomputed(graph, drop_segments(graph, segments))), print_graph(graph)) << segments;
  }
}

TEST(Recompute, CutsAtMostBeforeEveryNode) {
  const Graph graph = differentiated(text(kPerceptron, "return %10 }"));
  EXPECT_EQ(count_dropped(drop_segments(graph, 1000)), 0) << "everything crosses a cut";
  EXPECT_EQ(count_dropped(drop_segments(graph, INT32_MAX)), 0);
}

constexpr const char* kImages = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[4, 3, 1, 1] parameter "conv1.weight"
  %2 : f32[4] parameter "bn1.weight"
  %3 : f32[4] parameter "bn1.bias"
  %4 : f32[4] buffer "bn1.running_mean"
  %5 : f32[4] buffer "bn1.running_var"
  %6 : i64[] buffer "bn1.num_batches_tracked"
  %7 : f32[4, 4, 1, 1] parameter "conv2.weight"
  %8 : i64[2] counter "dropout_counter"
  %9 : f32[5, 16] parameter "fc.weight"
  %10 : i32[2] targets "target"
  (%11 : f32[2, 4, 4, 4]) = conv2d(%0, %1, _) "conv1" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%12 : f32[2, 4, 4, 4], %13 : f32[4], %14 : f32[4]) = batch_norm2d(%11, %2, %3, %4, %5, %6, _) "bn1" {eps=1e-05, momentum=0.1, relu=1}
  (%15 : f32[2, 4, 4, 4]) = conv2d(%12, %7, _) "conv2" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=1, stride=[1, 1]}
  (%16 : f32[2, 4, 2, 2], %17 : i32[2, 4, 2, 2]) = max_pool2d(%15) "pool" {kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%18 : f32[2, 4, 2, 2]) = dropout(%16, %8) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%19 : f32[2, 16]) = reshape(%18) "flatten" {shape=[-1]}
  (%20 : f32[2, 5]) = linear(%19, %9, _) "fc"
  (%21 : f64[1], %22 : i64[1], %23 : f32[2, 5]) = cross_entropy(%20, %10) "loss" {scale=0.5}
)";

// Each layer is recomputed once, before the first reader:
// - BatchNorm without running statistics,
// - the maxima together with their places,
// - dropout with the same counter,
// - a view together with its source.
TEST(Recompute, MakesEveryLayerAgainOnceAndMovesNoStateAgain) {
  const Graph graph = differentiated(text(kImages, "return %21, %22 }"));
  EXPECT_GRAPH(recomputed(graph, drop_layers(graph, {"*"})), text(kImages, R"(
  (%24 : f32[2, 5]) = cross_entropy_gradient(%23, %10) "loss" {scale=0.5}
  (%37 : f32[2, 4, 4, 4]) = conv2d(%0, %1, _) "conv1" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%38 : f32[2, 4, 4, 4], %39 : f32[4], %40 : f32[4]) = batch_norm2d(%37, %2, %3, _, _, _, _) "bn1" {eps=1e-05, momentum=0.1, relu=1}
  (%41 : f32[2, 4, 4, 4]) = conv2d(%38, %7, _) "conv2" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=1, stride=[1, 1]}
  (%42 : f32[2, 4, 2, 2], %43 : i32[2, 4, 2, 2]) = max_pool2d(%41) "pool" {kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%44 : f32[2, 4, 2, 2]) = dropout(%42, %8) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%45 : f32[2, 16]) = reshape(%44) "flatten" {shape=[-1]}
  (%25 : f32[5, 16] gradient "fc.weight") = linear_weight_gradient(%45, %24) "fc" {bias=0}
  (%26 : f32[2, 16]) = linear_input_gradient(%9, %24) "fc" {input_shape=[2, 16]}
  (%27 : f32[2, 4, 2, 2]) = reshape(%26) "flatten" {shape=[4, 2, 2]}
  (%28 : f32[2, 4, 2, 2]) = dropout(%27, %8) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%29 : f32[2, 4, 4, 4]) = max_pool2d_gradient(%43, %28) "pool" {input_shape=[2, 4, 4, 4], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%30 : f32[2, 4, 4, 4]) = relu_gradient(%41, %29) "conv2"
  (%31 : f32[4, 4, 1, 1] gradient "conv2.weight") = conv2d_weight_gradient(%38, %30) "conv2" {bias=0, dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[4, 4, 1, 1]}
  (%32 : f32[2, 4, 4, 4]) = conv2d_input_gradient(%7, %30) "conv2" {dilation=[1, 1], groups=1, input_shape=[2, 4, 4, 4], kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1]}
  (%33 : f32[2, 4, 4, 4], %34 : f32[4] gradient "bn1.weight", %35 : f32[4] gradient "bn1.bias") = batch_norm2d_gradient(%37, %2, %13, %14, %38, %32) "bn1" {relu=1, residual=0}
  (%36 : f32[4, 3, 1, 1] gradient "conv1.weight") = conv2d_weight_gradient(%0, %33) "conv1" {bias=0, dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[4, 3, 1, 1]}
  return %21, %22 })"));
}

TEST(Recompute, MakesWhatIsCheapAgainFromTheConvolutionsThatAreKept) {
  const Graph graph = differentiated(text(kImages, "return %21, %22 }"));
  EXPECT_GRAPH(recomputed(graph, drop_cheap(graph)), text(kImages, R"(
  (%24 : f32[2, 5]) = cross_entropy_gradient(%23, %10) "loss" {scale=0.5}
  (%37 : f32[2, 4, 2, 2], %38 : i32[2, 4, 2, 2]) = max_pool2d(%15) "pool" {kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%39 : f32[2, 4, 2, 2]) = dropout(%37, %8) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%40 : f32[2, 16]) = reshape(%39) "flatten" {shape=[-1]}
  (%25 : f32[5, 16] gradient "fc.weight") = linear_weight_gradient(%40, %24) "fc" {bias=0}
  (%26 : f32[2, 16]) = linear_input_gradient(%9, %24) "fc" {input_shape=[2, 16]}
  (%27 : f32[2, 4, 2, 2]) = reshape(%26) "flatten" {shape=[4, 2, 2]}
  (%28 : f32[2, 4, 2, 2]) = dropout(%27, %8) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%29 : f32[2, 4, 4, 4]) = max_pool2d_gradient(%38, %28) "pool" {input_shape=[2, 4, 4, 4], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%30 : f32[2, 4, 4, 4]) = relu_gradient(%15, %29) "conv2"
  (%41 : f32[2, 4, 4, 4], %42 : f32[4], %43 : f32[4]) = batch_norm2d(%11, %2, %3, _, _, _, _) "bn1" {eps=1e-05, momentum=0.1, relu=1}
  (%31 : f32[4, 4, 1, 1] gradient "conv2.weight") = conv2d_weight_gradient(%41, %30) "conv2" {bias=0, dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[4, 4, 1, 1]}
  (%32 : f32[2, 4, 4, 4]) = conv2d_input_gradient(%7, %30) "conv2" {dilation=[1, 1], groups=1, input_shape=[2, 4, 4, 4], kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1]}
  (%33 : f32[2, 4, 4, 4], %34 : f32[4] gradient "bn1.weight", %35 : f32[4] gradient "bn1.bias") = batch_norm2d_gradient(%11, %2, %13, %14, %41, %32) "bn1" {relu=1, residual=0}
  (%36 : f32[4, 3, 1, 1] gradient "conv1.weight") = conv2d_weight_gradient(%0, %33) "conv1" {bias=0, dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[4, 3, 1, 1]}
  return %21, %22 })"));
}

// A view has no memory of its own. It is dropped together with its source, and never by its own
// name.
TEST(Recompute, DropsAViewWithWhatItShows) {
  const Graph graph = differentiated(text(kImages, "return %21, %22 }"));
  EXPECT_EQ(count_dropped(drop_layers(graph, {"flatten"})), 0);
  const Dropped dropped = drop_layers(graph, {"drop"});
  EXPECT_TRUE(dropped[18] && dropped[19]);
  EXPECT_EQ(count_dropped(dropped), 2);
}

// If the sum of a block were dropped too, every block of a stage would have to be recomputed at
// once.
TEST(Recompute, KeepsTheSumsOfBlocksAmongCheapLayers) {
  const Graph graph = differentiated(R"(
graph "net" {
  %0 : f32[2, 4, 2, 2] samples "x"
  %1 : f32[4, 4, 1, 1] parameter "conv1.weight"
  %2 : f32[4] parameter "bn1.weight"
  %3 : f32[4] parameter "bn1.bias"
  %4 : f32[4] buffer "bn1.running_mean"
  %5 : f32[4] buffer "bn1.running_var"
  %6 : i64[] buffer "bn1.num_batches_tracked"
  %7 : f32[4, 4, 1, 1] parameter "conv2.weight"
  %8 : f32[2, 16] targets "target"
  (%9 : f32[2, 4, 2, 2]) = conv2d(%0, %1, _) "conv1" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%10 : f32[2, 4, 2, 2], %11 : f32[4], %12 : f32[4]) = batch_norm2d(%9, %2, %3, %4, %5, %6, _) "bn1" {eps=1e-05, momentum=0.1, relu=1}
  (%13 : f32[2, 4, 2, 2]) = conv2d(%10, %7, _) "conv2" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%14 : f32[2, 4, 2, 2], %15 : f32[4], %16 : f32[4]) = batch_norm2d(%13, %2, %3, %4, %5, %6, %10) "bn2" {eps=1e-05, momentum=0.1, relu=1}
  (%17 : f32[2, 16]) = reshape(%14) "flatten" {shape=[-1]}
  (%18 : f64[1]) = mean_squared_error(%17, %8) "loss" {scale=1.0}
  return %18
})");
  const Dropped dropped = drop_cheap(graph);
  EXPECT_TRUE(dropped[10]);
  EXPECT_EQ(count_dropped(dropped), 1);
}

// If a ReLU's output were dropped, its input would have to be kept instead.
TEST(Recompute, KeepsACheapLayerWhoseInputBackwardDoesNotRead) {
  const Graph graph = differentiated(R"(
graph "net" {
  %0 : f32[2, 4] samples "x"
  %1 : f32[4, 4] parameter "fc1.weight"
  %2 : f32[4, 4] parameter "fc2.weight"
  %3 : f32[2, 4] targets "target"
  (%4 : f32[2, 4]) = linear(%0, %1, _) "fc1"
  (%5 : f32[2, 4]) = relu(%4) "relu1"
  (%6 : f32[2, 4]) = linear(%5, %2, _) "fc2"
  (%7 : f64[1]) = mean_squared_error(%6, %3) "loss" {scale=1.0}
  return %7
})");
  EXPECT_EQ(count_dropped(drop_cheap(graph)), 0);
}

TEST(Recompute, NamesAPatternThatMatchesNoLayer) {
  const Graph graph = differentiated(text(kPerceptron, "return %10 }"));
  EXPECT_THROWS(Status::not_found, "recompute_layers 'conv*': no layer of model 'mlp' matches it",
                drop_layers(graph, {"fc1", "conv*"}));
  EXPECT_THROWS(Status::not_found, "recompute_layers 'loss'", drop_layers(graph, {"loss"}));
}

}  // namespace
}  // namespace troika
