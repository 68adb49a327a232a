// Tests of rebatch: changes the batch of the input, and every shape that depends on the batch.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr const char* kBatchOfOne = R"(
graph "net" {
  %0 : f32[1, 2, 4, 4] samples "x"
  %1 : f32[3, 2, 3, 3] parameter "conv.weight"
  %3 : f32[5, 12] parameter "fc.weight"
  %6 : i64[2] counter "dropout_counter"
  (%2 : f32[1, 3, 2, 2]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], stride=[1, 1]}
  (%4 : f32[1, 12]) = reshape(%2) "flatten" {shape=[-1]}
  (%5 : f32[1, 5]) = linear(%4, %3, _) "fc"
  (%7 : f32[1, 5]) = dropout(%5, %6) "drop" {layer=1, probability=0.5, sample_offset=0}
  return %7
})";

TEST(Rebatch, ChangesTheInputAndWhatFollowsFromItAlone) {
  EXPECT_GRAPH(rebatch(parse_graph(kBatchOfOne), 6), R"(
graph "net" {
  %0 : f32[6, 2, 4, 4] samples "x"
  %1 : f32[3, 2, 3, 3] parameter "conv.weight"
  %3 : f32[5, 12] parameter "fc.weight"
  %6 : i64[2] counter "dropout_counter"
  (%2 : f32[6, 3, 2, 2]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], stride=[1, 1]}
  (%4 : f32[6, 12]) = reshape(%2) "flatten" {shape=[-1]}
  (%5 : f32[6, 5]) = linear(%4, %3, _) "fc"
  (%7 : f32[6, 5]) = dropout(%5, %6) "drop" {layer=1, probability=0.5, sample_offset=0}
  return %7
})");
}

TEST(Rebatch, LeavesItsSourceAlone) {
  const Graph graph = parse_graph(kBatchOfOne);
  rebatch(graph, 6);
  EXPECT_GRAPH(graph, kBatchOfOne);
}

TEST(Rebatch, GoesBackToTheGraphItCameFrom) {
  EXPECT_GRAPH(rebatch(rebatch(parse_graph(kBatchOfOne), 31), 1), kBatchOfOne);
}

TEST(Rebatch, GivesAGraphThatVerifies) {
  for (int64_t batch : {1, 2, 255}) EXPECT_NO_THROW(verify(rebatch(parse_graph(kBatchOfOne), batch)));
}

}  // namespace
}  // namespace troika
