// Tests of remove_dead_code: nodes whose outputs nothing reads are removed, nodes that change state
// stay.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"

namespace troika {
namespace {

Graph without_dead_code(const char* source) {
  Graph graph = parse_graph(source);
  remove_dead_code(graph);
  verify(graph);
  return graph;
}

TEST(RemoveDeadCode, DropsChainsThatNothingReads) {
  EXPECT_GRAPH(without_dead_code(R"(
graph "net" {
  %0 : f32[2] samples "x"
  (%1 : f32[2]) = relu(%0) "used"
  (%2 : f32[2]) = relu(%0) "dead"
  (%3 : f32[2]) = add(%2, %1) "dead too"
  return %1
})"),
               R"(
graph "net" {
  %0 : f32[2] samples "x"
  (%1 : f32[2]) = relu(%0) "used"
  return %1
})");
}

TEST(RemoveDeadCode, KeepsANodeOfWhichOneOutputIsRead) {
  constexpr const char* kPool = R"(
graph "net" {
  %0 : f32[1, 1, 2, 2] samples "x"
  (%1 : f32[1, 1, 1, 1], %2 : i32[1, 1, 1, 1]) = max_pool2d(%0) "pool" {dilation=[1, 1], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  return %2
})";
  EXPECT_GRAPH(without_dead_code(kPool), kPool);
}

TEST(RemoveDeadCode, KeepsGradientsAndWhatChangesState) {
  constexpr const char* kUpdate = R"(
graph "net" {
  %0 : f32[3] parameter "w"
  %2 : f32[1, 4] settings "settings"
  (%1 : f32[3] gradient "w") = fill() "w" {shape=[3], value=0.0}
  () = all_reduce(%1) "bucket0" {bucket=0}
  () = sgd_update(%2, _, _, _, _, %0, %1) "sgd" {row=0, slots=0}
  return
})";
  EXPECT_GRAPH(without_dead_code(kUpdate), kUpdate);
  constexpr const char* kGradientAlone =
      R"(graph "net" { (%1 : f32[3] gradient "w") = fill() "w" {shape=[3], value=0.0} return })";
  EXPECT_GRAPH(without_dead_code(kGradientAlone), kGradientAlone);
}

TEST(RemoveDeadCode, KeepsTrainingsBatchNormForItsRunningStatistics) {
  constexpr const char* kStatistics = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  (%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
  return %0
})";
  EXPECT_GRAPH(without_dead_code(kStatistics), kStatistics);
}

TEST(RemoveDeadCode, DropsABatchNormThatMovesNoStatistics) {
  EXPECT_TRUE(without_dead_code(R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  (%3 : f32[2, 3, 4, 4], %4 : f32[3], %5 : f32[3]) = batch_norm2d(%0, %1, %2, _, _, _, _) "bn" {eps=1e-05, momentum=0.1}
  return %0
})")
                  .nodes()
                  .empty());
}

}  // namespace
}  // namespace troika
