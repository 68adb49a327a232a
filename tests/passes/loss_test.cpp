// Tests of append_loss: the loss against a new input, and the new outputs of the graph.
#include <gtest/gtest.h>

#include "ops/op_def.h"
#include "passes/graph_text.h"
#include "passes/loss.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr const char* kNet =
    R"(graph "net" { %0 : f32[4, 10] samples "x" (%1 : f32[4, 10]) = relu(%0) "relu" return %1 })";

Graph with_loss(const char* source, Loss loss, double scale) {
  Graph graph = parse_graph(source);
  append_loss(graph, {.kind = loss, .scale = scale});
  verify(graph);
  return graph;
}

TEST(AppendLoss, AppendsCrossEntropyAgainstLabels) {
  EXPECT_GRAPH(with_loss(kNet, Loss::cross_entropy, 0.125), R"(
graph "net" {
  %0 : f32[4, 10] samples "x"
  %2 : i32[4] targets "target"
  (%1 : f32[4, 10]) = relu(%0) "relu"
  (%3 : f64[1], %4 : i64[1], %5 : f32[4, 10]) = cross_entropy(%1, %2) "loss" {scale=0.125}
  return loss %3, correct %4
})");
}

TEST(AppendLoss, AppendsMeanSquaredErrorAgainstValues) {
  EXPECT_GRAPH(with_loss(kNet, Loss::mean_squared_error, 1.0), R"(
graph "net" {
  %0 : f32[4, 10] samples "x"
  %2 : f32[4, 10] targets "target"
  (%1 : f32[4, 10]) = relu(%0) "relu"
  (%3 : f64[1]) = mean_squared_error(%1, %2) "loss" {scale=1.0}
  return loss %3
})");
}

TEST(AppendOwnLoss, TakesItsGradientAsTargets) {
  Graph graph = parse_graph(kNet);
  append_own_loss(graph);
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[4, 10] samples "x"
  %2 : f32[4, 10] targets "target"
  (%1 : f32[4, 10]) = relu(%0) "relu"
  (%3 : f32[4, 10]) = own_loss(%1, %2) "loss"
  return %3
})");
}

TEST(AppendLoss, RefusesAnOutputThatHasNoAxisOfClasses) {
  constexpr const char* kVolume =
      R"(graph "net" { %0 : f32[4, 3, 2, 2, 1] samples "x" (%1 : f32[4, 3, 2, 2, 1]) = relu(%0) "relu" return %1 })";
  EXPECT_THROWS(Status::invalid_argument, "the model's output has shape [4, 3, 2, 2, 1], needs [batch, classes]",
                with_loss(kVolume, Loss::cross_entropy, 1.0));
}

TEST(AppendLoss, ReadsTheWeightsOfLabelsAndSamples) {
  Graph labels = parse_graph(kNet), values = parse_graph(kNet);
  append_loss(labels, {.is_weighed = true, .has_weights = true});
  append_loss(values, {.kind = Loss::mean_squared_error, .has_weights = true});
  EXPECT_GRAPH(labels, R"graph(
graph "net" {
  %0 : f32[4, 10] samples "x"
  %2 : i32[4] targets "target"
  %3 : f32[1] label_weight "(label weight)"
  %4 : f32[4] weights "weights"
  (%1 : f32[4, 10]) = relu(%0) "relu"
  (%5 : f64[1], %6 : i64[1], %7 : f32[4, 10]) = cross_entropy(%1, %2, _, %3, %4) "loss" {scale=1.0}
  return loss %5, correct %6
})graph");
  EXPECT_GRAPH(values, R"graph(
graph "net" {
  %0 : f32[4, 10] samples "x"
  %2 : f32[4, 10] targets "target"
  %3 : f32[4] weights "weights"
  (%1 : f32[4, 10]) = relu(%0) "relu"
  (%4 : f64[1]) = mean_squared_error(%1, %2, _, _, %3) "loss" {scale=1.0}
  return loss %4
})graph");
}

TEST(AppendLoss, WeighsLabelsByAnInputIfSomeMayBeIgnored) {
  Graph graph =
      parse_graph(R"(graph "net" { %0 : f32[4, 3, 7] samples "x" (%1 : f32[4, 3, 7]) = relu(%0) "relu" return %1 })");
  append_loss(graph, {.labels = {-100, 0.25}, .is_weighed = true});
  EXPECT_GRAPH(graph, R"graph(
graph "net" {
  %0 : f32[4, 3, 7] samples "x"
  %2 : i32[4, 3] targets "target"
  %3 : f32[1] label_weight "(label weight)"
  (%1 : f32[4, 3, 7]) = relu(%0) "relu"
  (%4 : f64[1], %5 : i64[1], %6 : f32[4, 3, 7]) = cross_entropy(%1, %2, _, %3) "loss" {
    ignore_index = -100 scale = 1.0 smoothing = 0.25}
  return loss %4, correct %5
})graph");
}

}  // namespace
}  // namespace troika
