// Tests of to_inference: the graph of the network for evaluation.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"

namespace troika {
namespace {

Graph inference(const char* source) {
  Graph graph = parse_graph(source);
  to_inference(graph);
  verify(graph);
  return graph;
}

TEST(ToInference, TakesBatchNormsRunningStatistics) {
  EXPECT_GRAPH(inference(R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  (%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
  (%9 : f32[2, 3, 4, 4]) = relu(%6) "relu"
  return %9
})"),
               R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  (%6 : f32[2, 3, 4, 4]) = batch_norm2d_inference(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
  (%9 : f32[2, 3, 4, 4]) = relu(%6) "relu"
  return %9
})");
}

TEST(ToInference, DropsDropout) {
  EXPECT_GRAPH(inference(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : i64[2] counter "dropout_counter"
  (%2 : f32[2, 3]) = dropout(%0, %1) "a" {layer=1, probability=0.5, sample_offset=0}
  (%3 : f32[2, 3]) = dropout(%2, %1) "b" {layer=2, probability=0.5, sample_offset=0}
  (%4 : f32[2, 3]) = add(%3, %2) "sum"
  return %4
})"),
               R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : i64[2] counter "dropout_counter"
  (%4 : f32[2, 3]) = add(%0, %0) "sum"
  return %4
})");
}

TEST(ToInference, DropsDropoutAtTheOutput) {
  EXPECT_GRAPH(inference(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : i64[2] counter "dropout_counter"
  (%2 : f32[2, 3]) = relu(%0) "relu"
  (%3 : f32[2, 3]) = dropout(%2, %1) "drop" {layer=1, probability=0.5, sample_offset=0}
  return %3
})"),
               R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : i64[2] counter "dropout_counter"
  (%2 : f32[2, 3]) = relu(%0) "relu"
  return %2
})");
}

}  // namespace
}  // namespace troika
