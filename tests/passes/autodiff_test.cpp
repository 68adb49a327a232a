// Tests of autodiff: the backward pass as text, values used twice, frozen parameters, and errors.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

Graph differentiated(const std::string& source, const std::vector<std::string>& trainable) {
  Graph graph = parse_graph(source);
  autodiff(graph, trainable);
  verify(graph);
  return graph;
}

int count_nodes(const Graph& graph, const std::string& op) {
  return static_cast<int>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) { return node.op->name == op; }));
}

constexpr const char* kPerceptron = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[4, 3] parameter "fc1.weight"
  %2 : f32[4] parameter "fc1.bias"
  %3 : f32[5, 4] parameter "fc2.weight"
  %4 : i32[2] targets "target"
  (%5 : f32[2, 4]) = linear(%0, %1, %2) "fc1" {relu=1}
  (%6 : f32[2, 5]) = linear(%5, %3, _) "fc2"
  (%7 : f64[1], %8 : i64[1], %9 : f32[2, 5]) = cross_entropy(%6, %4) "loss" {scale=0.5}
)";

TEST(Autodiff, AppendsTheBackwardPassFromTheLastLayerToTheFirst) {
  EXPECT_GRAPH(differentiated(text(kPerceptron, "return %7, %8 }"), {"fc1.weight", "fc1.bias", "fc2.weight"}),
               text(kPerceptron, R"(
  (%10 : f32[2, 5]) = cross_entropy_gradient(%9, %4) "loss" {scale=0.5}
  (%11 : f32[5, 4] gradient "fc2.weight") = linear_weight_gradient(%5, %10) "fc2" {bias=0}
  (%12 : f32[2, 4]) = linear_input_gradient(%3, %10) "fc2" {input_shape=[2, 4]}
  (%13 : f32[2, 4]) = relu_gradient(%5, %12) "fc1"
  (%14 : f32[4, 3] gradient "fc1.weight", %15 : f32[4] gradient "fc1.bias") = linear_weight_gradient(%0, %13) "fc1" {bias=1}
  return %7, %8 })"));
}

TEST(Autodiff, GoesOnToTheSamples) {
  Graph graph = parse_graph(text(kPerceptron, "return %7, %8 }"));
  autodiff(graph, {"fc2.weight"}, true);
  verify(graph);
  EXPECT_GRAPH(graph, text(kPerceptron, R"(
  (%10 : f32[2, 5]) = cross_entropy_gradient(%9, %4) "loss" {scale=0.5}
  (%11 : f32[5, 4] gradient "fc2.weight") = linear_weight_gradient(%5, %10) "fc2" {bias=0}
  (%12 : f32[2, 4]) = linear_input_gradient(%3, %10) "fc2" {input_shape=[2, 4]}
  (%13 : f32[2, 4]) = relu_gradient(%5, %12) "fc1"
  (%14 : f32[2, 3]) = linear_input_gradient(%1, %13) "fc1" {input_shape=[2, 3]}
  return %7, %8, input_gradient %14 })"));
}

TEST(Autodiff, StopsAtCroppedSamples) {
  constexpr const char* kCropped = R"(
graph "net" {
  %0 : f32[2, 1, 5, 4] samples "x"
  %1 : f32[3, 12] parameter "fc.weight"
  %2 : f32[2, 3] targets "target"
  (%3 : f32[2, 1, 4, 3]) = crop(%0) "x" {size=[4, 3]}
  (%4 : f32[2, 3]) = linear(%3, %1, _) "fc"
  (%5 : f32[2, 3]) = own_loss(%4, %2) "loss"
)";
  Graph graph = parse_graph(text(kCropped, "return %5 }"));
  autodiff(graph, {"fc.weight"}, true);
  verify(graph);
  EXPECT_GRAPH(graph, text(kCropped, R"(
  (%6 : f32[3, 12] gradient "fc.weight") = linear_weight_gradient(%3, %2) "fc" {bias=0}
  (%7 : f32[2, 1, 4, 3]) = linear_input_gradient(%1, %2) "fc" {input_shape=[2, 1, 4, 3]}
  return %5, input_gradient %7 })"));
}

TEST(Autodiff, RefusesSamplesThatReachNoOutput) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[2, 3] parameter "w"
  %2 : f32[2, 3] targets "target"
  (%3 : f32[2, 3]) = relu(%1) "relu"
  (%4 : f32[2, 3]) = own_loss(%3, %2) "loss"
  return %4
})");
  EXPECT_THROWS(Status::unsupported, "model 'net': the input does not reach the output",
                (autodiff(graph, {"w"}, true), 0));
}

TEST(Autodiff, ComputesNothingForFrozenParameters) {
  EXPECT_GRAPH(differentiated(text(kPerceptron, "return %7, %8 }"), {"fc2.weight"}), text(kPerceptron, R"(
  (%10 : f32[2, 5]) = cross_entropy_gradient(%9, %4) "loss" {scale=0.5}
  (%11 : f32[5, 4] gradient "fc2.weight") = linear_weight_gradient(%5, %10) "fc2" {bias=0}
  return %7, %8 })"));
}

TEST(Autodiff, GoesThroughAFrozenLayerToTheOneBeforeIt) {
  EXPECT_GRAPH(differentiated(text(kPerceptron, "return %7, %8 }"), {"fc1.weight"}), text(kPerceptron, R"(
  (%10 : f32[2, 5]) = cross_entropy_gradient(%9, %4) "loss" {scale=0.5}
  (%11 : f32[2, 4]) = linear_input_gradient(%3, %10) "fc2" {input_shape=[2, 4]}
  (%12 : f32[2, 4]) = relu_gradient(%5, %11) "fc1"
  (%13 : f32[4, 3] gradient "fc1.weight") = linear_weight_gradient(%0, %12) "fc1" {bias=0}
  return %7, %8 })"));
}

constexpr const char* kShortcut = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc1.weight"
  %2 : f32[3, 3] parameter "fc2.weight"
  %3 : f32[2, 3] targets "target"
  (%4 : f32[2, 3]) = linear(%0, %1, _) "fc1"
  (%5 : f32[2, 3]) = linear(%4, %2, _) "fc2"
  (%6 : f32[2, 3]) = add(%5, %4) "sum"
  (%7 : f64[1]) = mean_squared_error(%6, %3) "loss" {scale=1.0}
)";

TEST(Autodiff, AddsTheContributionsToAValueThatIsUsedTwice) {
  EXPECT_GRAPH(differentiated(text(kShortcut, "return %7 }"), {"fc1.weight", "fc2.weight"}), text(kShortcut, R"(
  (%8 : f32[2, 3]) = mean_squared_error_gradient(%6, %3) "loss" {scale=1.0}
  (%9 : f32[3, 3] gradient "fc2.weight") = linear_weight_gradient(%4, %8) "fc2" {bias=0}
  (%10 : f32[2, 3]) = linear_input_gradient(%2, %8) "fc2" {input_shape=[2, 3]}
  (%11 : f32[2, 3]) = add(%8, %10) ""
  (%12 : f32[3, 3] gradient "fc1.weight") = linear_weight_gradient(%0, %11) "fc1" {bias=0}
  return %7 })"));
}

// A parameter that is used twice has one gradient, which is computed after the last contribution.
TEST(Autodiff, MakesOneGradientOfAParameterThatIsUsedTwice) {
  constexpr const char* kTied = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "tied.weight"
  %2 : f32[2, 3] targets "target"
  (%3 : f32[2, 3]) = linear(%0, %1, _) "a"
  (%4 : f32[2, 3]) = linear(%3, %1, _) "b"
  (%5 : f64[1]) = mean_squared_error(%4, %2) "loss" {scale=1.0}
)";
  EXPECT_GRAPH(differentiated(text(kTied, "return %5 }"), {"tied.weight"}), text(kTied, R"(
  (%6 : f32[2, 3]) = mean_squared_error_gradient(%4, %2) "loss" {scale=1.0}
  (%7 : f32[3, 3]) = linear_weight_gradient(%3, %6) "b" {bias=0}
  (%8 : f32[2, 3]) = linear_input_gradient(%1, %6) "b" {input_shape=[2, 3]}
  (%9 : f32[3, 3]) = linear_weight_gradient(%0, %8) "a" {bias=0}
  (%10 : f32[3, 3] gradient "tied.weight") = add(%7, %9) "tied.weight"
  return %5 })"));
}

TEST(Autodiff, HandsASumsGradientToBothSides) {
  constexpr const char* kDouble = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc.weight"
  %2 : f32[2, 3] targets "target"
  (%3 : f32[2, 3]) = linear(%0, %1, _) "fc"
  (%4 : f32[2, 3]) = add(%3, %3) "twice"
  (%5 : f64[1]) = mean_squared_error(%4, %2) "loss" {scale=1.0}
)";
  EXPECT_GRAPH(differentiated(text(kDouble, "return %5 }"), {"fc.weight"}), text(kDouble, R"(
  (%6 : f32[2, 3]) = mean_squared_error_gradient(%4, %2) "loss" {scale=1.0}
  (%7 : f32[2, 3]) = add(%6, %6) ""
  (%8 : f32[3, 3] gradient "fc.weight") = linear_weight_gradient(%0, %7) "fc" {bias=0}
  return %5 })"));
}

TEST(Autodiff, NeverComputesTheGradientOfTheInput) {
  const Graph graph = differentiated(text(kPerceptron, "return %7, %8 }"), {"fc1.weight", "fc1.bias", "fc2.weight"});
  EXPECT_EQ(count_nodes(graph, "linear_input_gradient"), 1);
}

TEST(Autodiff, DrawsDropoutsMaskAgainFromTheSameCounter) {
  constexpr const char* kDropout = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc.weight"
  %2 : i64[2] counter "dropout_counter"
  %3 : f32[2, 3] targets "target"
  (%4 : f32[2, 3]) = linear(%0, %1, _) "fc"
  (%5 : f32[2, 3]) = dropout(%4, %2) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%6 : f64[1]) = mean_squared_error(%5, %3) "loss" {scale=1.0}
)";
  EXPECT_GRAPH(differentiated(text(kDropout, "return %6 }"), {"fc.weight"}), text(kDropout, R"(
  (%7 : f32[2, 3]) = mean_squared_error_gradient(%5, %3) "loss" {scale=1.0}
  (%8 : f32[2, 3]) = dropout(%7, %2) "drop" {layer=7, probability=0.25, sample_offset=0}
  (%9 : f32[3, 3] gradient "fc.weight") = linear_weight_gradient(%0, %8) "fc" {bias=0}
  return %6 })"));
}

TEST(Autodiff, HandsTheResidualOfAFusedBatchNormItsGradient) {
  for (int relu : {0, 1}) {
    const Graph graph = differentiated(text(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc.weight"
  %2 : f32[3] parameter "bn.weight"
  %3 : f32[3] parameter "bn.bias"
  %4 : f32[3] buffer "bn.running_mean"
  %5 : f32[3] buffer "bn.running_var"
  %6 : i64[] buffer "bn.num_batches_tracked"
  %7 : f32[2, 3] targets "target"
  (%8 : f32[2, 3]) = linear(%0, %1, _) "fc"
  (%9 : f32[2, 3, 1, 1]) = reshape(%8) "image" {shape=[3, 1, 1]}
  (%10 : f32[2, 3, 1, 1], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %2, %3, %4, %5, %6, %9) "bn" {eps=1e-05, momentum=0.1, relu=)",
                                            relu, R"(}
  (%13 : f32[2, 3]) = reshape(%10) "flatten" {shape=[-1]}
  (%14 : f64[1]) = mean_squared_error(%13, %7) "loss" {scale=1.0}
  return %14 })"),
                                       {"fc.weight", "bn.weight", "bn.bias"});
    EXPECT_EQ(count_nodes(graph, "batch_norm2d_gradient"), 1);
    EXPECT_EQ(count_nodes(graph, "add"), 1) << "the residual and the input are one value";
    EXPECT_EQ(graph.nodes()[7].attributes.flag("residual"), relu == 1) << print_graph(graph);
  }
}

TEST(Autodiff, NamesAParameterThatDoesNotReachTheLoss) {
  constexpr const char* kUnused = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "used.weight"
  %2 : f32[3, 3] parameter "unused.weight"
  %3 : f32[2, 3] targets "target"
  (%4 : f32[2, 3]) = linear(%0, %1, _) "used"
  (%5 : f32[2, 3]) = linear(%0, %2, _) "unused"
  (%6 : f64[1]) = mean_squared_error(%4, %3) "loss" {scale=1.0}
  return %6
})";
  EXPECT_THROWS(Status::invalid_argument,
                "parameter 'unused.weight' does not reach the loss; freeze it with a parameter group",
                differentiated(kUnused, {"used.weight", "unused.weight"}));
  EXPECT_NO_THROW(differentiated(kUnused, {"used.weight"}));
}

TEST(Autodiff, NamesAnOpWithoutAGradientOnlyWhereItIsNeeded) {
  constexpr const char* kNoGradient = R"(
graph "net" {
  %0 : f32[2, 3, 1, 1] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  %6 : f32[3, 3] parameter "fc.weight"
  %7 : f32[2, 3] targets "target"
  (%8 : f32[2, 3, 1, 1]) = batch_norm2d_inference(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
  (%9 : f32[2, 3]) = linear(%8, %6, _) "fc"
  (%10 : f64[1]) = mean_squared_error(%9, %7) "loss" {scale=1.0}
  return %10
})";
  EXPECT_THROWS(Status::unsupported, "batch_norm2d_inference 'bn' has no gradient",
                differentiated(kNoGradient, {"bn.weight", "fc.weight"}));
  EXPECT_NO_THROW(differentiated(kNoGradient, {"fc.weight"}));
}

TEST(Autodiff, NamesAParameterThatIsNotInTheGraph) {
  EXPECT_THROWS(Status::internal, "autodiff: parameter 'nobody' is not in graph 'net'",
                differentiated(text(kPerceptron, "return %7, %8 }"), {"nobody"}));
}

}  // namespace
}  // namespace troika
