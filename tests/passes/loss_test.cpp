// Tests of append_loss: the loss against a new input, and what the graph then gives.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"
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

TEST(AppendLoss, RefusesAnOutputThatIsNoVectorASample) {
  constexpr const char* kImage =
      R"(graph "net" { %0 : f32[4, 3, 2, 2] samples "x" (%1 : f32[4, 3, 2, 2]) = relu(%0) "relu" return %1 })";
  EXPECT_THROWS(Status::invalid_argument, "the model's output has shape [4, 3, 2, 2], needs [batch, classes]",
                with_loss(kImage, Loss::cross_entropy, 1.0));
}

}  // namespace
}  // namespace troika
