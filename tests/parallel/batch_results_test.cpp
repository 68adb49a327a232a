// Tests of the nodes by which all ranks get the results of the whole batch.
#include "parallel/batch_results.h"

#include <gtest/gtest.h>

#include "ops/op_def.h"
#include "passes/graph_text.h"

namespace troika {
namespace {

// Returns a graph with the losses of two micro-batches, one of which also counts correct labels.
Graph with(const BatchResults& results) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f64[1] input "first"
  %1 : f64[1] input "second"
  %2 : i64[1] input "right"
  %3 : f32[2] input "scale"
  return loss %0, correct %2, loss %1, loss_scale %3
})");
  insert_batch_results(graph, results);
  verify(graph);
  return graph;
}

std::string lines_of(const BatchResults& results) {
  const std::string text = print_graph(with(results));
  return text.substr(text.find("\"scale\"\n") + 8);
}

TEST(BatchResults, AreSummedOverSharesThenOverParts) {
  EXPECT_EQ(lines_of({2, 7, true, true, 3, 4}),
            R"(  (%4 : f64[8]) = batch_results(%0, %1, %2) "loss" {first=2, losses=2, places=7}
  (%5 : f64[8]) = data_sum(%4) "loss" {background=1}
  (%6 : f64[8]) = model_sum(%5) "loss"
  return loss_scale %3, batch_results %6
}
)");
  EXPECT_EQ(lines_of({2, 7, true, true, 3, 1}),
            R"(  (%4 : f64[8]) = batch_results(%0, %1, %2) "loss" {first=2, losses=2, places=7}
  (%5 : f64[8]) = data_sum(%4) "loss" {background=1}
  return loss_scale %3, batch_results %5
}
)");
}

// The sum over shares is in flight while gradients are summed.
TEST(BatchResults, StartBeforeTheFirstBucket) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f64[1] input "loss"
  (%1 : f32[2] gradient "a") = fill() "a" {shape=[2], value=0.0}
  () = all_reduce(%1) "bucket0" {bucket=0}
  (%2 : f32[2]) = relu(%1) "after"
  return loss %0, %2
})");
  insert_batch_results(graph, {0, 2, true, true, 2, 3});
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f64[1] input "loss"
  (%1 : f32[2] gradient "a") = fill() "a" {shape=[2], value=0.0}
  (%3 : f64[3]) = batch_results(%0) "loss" {first=0, losses=1, places=2}
  (%4 : f64[3]) = data_sum(%3) "loss" {background=1}
  () = all_reduce(%1) "bucket0" {bucket=0}
  (%2 : f32[2]) = relu(%1) "after"
  (%5 : f64[3]) = model_sum(%4) "loss"
  return %2, batch_results %5
})");
}

// The host reads the results of a forward pass before the backward pass begins.
TEST(BatchResults, AreThereAtAPause) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f64[1] input "loss"
  () = pause() "forward"
  (%1 : f32[2] gradient "a") = fill() "a" {shape=[2], value=0.0}
  () = all_reduce(%1) "bucket0" {bucket=0}
  return loss %0
})");
  insert_batch_results(graph, {0, 2, true, true, 2, 3});
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f64[1] input "loss"
  (%2 : f64[3]) = batch_results(%0) "loss" {first=0, losses=1, places=2}
  (%3 : f64[3]) = data_sum(%2) "loss" {background=1}
  (%4 : f64[3]) = model_sum(%3) "loss"
  () = pause() "forward"
  (%1 : f32[2] gradient "a") = fill() "a" {shape=[2], value=0.0}
  () = all_reduce(%1) "bucket0" {bucket=0}
  return batch_results %4
})");
}

// Ranks that have no loss, or the same loss as the first rank of their channel group, add zeros.
TEST(BatchResults, AreCountedOnce) {
  EXPECT_EQ(lines_of({2, 7, false, true, 3, 4}),
            R"(  (%4 : f64[8]) = batch_results() "loss" {first=2, losses=0, places=7}
  (%5 : f64[8]) = model_sum(%4) "loss"
  return loss_scale %3, batch_results %5
}
)");
  Graph graph;
  insert_batch_results(graph, {2, 7, true, false, 3, 4});
  EXPECT_GRAPH(graph, R"(
graph "" {
  (%0 : f64[8]) = batch_results() "loss" {first=2, losses=0, places=7}
  (%1 : f64[8]) = model_sum(%0) "loss"
  return batch_results %1
})");
}

}  // namespace
}  // namespace troika
