// Tests of fuse: each pattern before and after, and neighbours that must not be fused.
#include <gtest/gtest.h>

#include "core/text.h"
#include "passes/graph_text.h"
#include "passes/passes.h"

namespace troika {
namespace {

Graph fused(const std::string& source) {
  Graph graph = parse_graph(source);
  fuse(graph);
  verify(graph);
  return graph;
}

void expect_left_alone(const std::string& source) { EXPECT_GRAPH(fused(source), source); }

// ---- relu ----

constexpr const char* kLinear = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc.weight"
  (%2 : f32[2, 3]) = linear(%0, %1, _) "fc"
)";

TEST(Fuse, CutsLinearAtZeroItself) {
  EXPECT_GRAPH(fused(text(kLinear, "(%3 : f32[2, 3]) = relu(%2) \"relu\" return %3 }")), R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc.weight"
  (%3 : f32[2, 3]) = linear(%0, %1, _) "fc" {relu=1}
  return %3
})");
}

TEST(Fuse, CutsConv2dAtZeroItself) {
  EXPECT_GRAPH(fused(R"(
graph "net" {
  %0 : f32[1, 2, 4, 4] samples "x"
  %1 : f32[3, 2, 3, 3] parameter "conv.weight"
  (%2 : f32[1, 3, 2, 2]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], stride=[1, 1]}
  (%3 : f32[1, 3, 2, 2]) = relu(%2) "relu"
  return %3
})"),
               R"(
graph "net" {
  %0 : f32[1, 2, 4, 4] samples "x"
  %1 : f32[3, 2, 3, 3] parameter "conv.weight"
  (%3 : f32[1, 3, 2, 2]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], relu=1, stride=[1, 1]}
  return %3
})");
}

TEST(Fuse, CutsAddAtZeroItselfEvenOfOneValueTwice) {
  EXPECT_GRAPH(
      fused(
          R"(graph "net" { %0 : f32[2] samples "x" (%1 : f32[2]) = add(%0, %0) "sum" (%2 : f32[2]) = relu(%1) "relu" return %2 })"),
      R"(graph "net" { %0 : f32[2] samples "x" (%2 : f32[2]) = add(%0, %0) "sum" {relu=1} return %2 })");
}

TEST(Fuse, KeepsTheSecondOfTwoRelus) {
  EXPECT_GRAPH(fused(text(kLinear, "(%3 : f32[2, 3]) = relu(%2) \"a\" (%4 : f32[2, 3]) = relu(%3) \"b\" return %4 }")),
               R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[3, 3] parameter "fc.weight"
  (%3 : f32[2, 3]) = linear(%0, %1, _) "fc" {relu=1}
  (%4 : f32[2, 3]) = relu(%3) "b"
  return %4
})");
}

TEST(Fuse, KeepsAReluWhoseInputIsUsedElsewhere) {
  expect_left_alone(
      text(kLinear, "(%3 : f32[2, 3]) = relu(%2) \"relu\" (%4 : f32[2, 3]) = add(%2, %3) \"sum\" return %4 }"));
  expect_left_alone(
      text(kLinear, "(%3 : f32[2, 3]) = relu(%2) \"a\" (%4 : f32[2, 3]) = relu(%2) \"b\" return %3, %4 }"));
}

TEST(Fuse, KeepsAReluWhoseInputTheGraphGivesOut) {
  expect_left_alone(text(kLinear, "(%3 : f32[2, 3]) = relu(%2) \"relu\" return %3, %2 }"));
}

TEST(Fuse, KeepsAReluBehindWhatCannotCut) {
  expect_left_alone(R"(graph "net" { %0 : f32[2] samples "x" (%1 : f32[2]) = relu(%0) "relu" return %1 })");
  expect_left_alone(R"(
graph "net" {
  %0 : f32[1, 1, 2, 2] samples "x"
  (%1 : f32[1, 1, 1, 1], %2 : i32[1, 1, 1, 1]) = max_pool2d(%0) "pool" {dilation=[1, 1], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%3 : f32[1, 1, 1, 1]) = relu(%1) "relu"
  return %3
})");
}

// ---- batch_norm_add_relu ----

constexpr const char* kBatchNorm = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
)";
constexpr const char* kBn =
    "(%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) \"bn\" {eps=1e-05, momentum=0.1}\n";
constexpr const char* kBnOf6 =
    "(%9 : f32[2, 3, 4, 4], %10 : f32[3], %11 : f32[3]) = batch_norm2d(%6, %1, %2, %3, %4, %5, _) \"bn2\" {eps=1e-05, momentum=0.1}\n";

TEST(Fuse, LetsTheResidualAndTheReluRideInBatchNorm) {
  for (const char* sum : {"add(%6, %0)", "add(%0, %6)"})
    EXPECT_GRAPH(
        fused(text(kBatchNorm, kBn, "(%9 : f32[2, 3, 4, 4]) = ", sum,
                   " \"sum\" (%10 : f32[2, 3, 4, 4]) = relu(%9) \"relu\" return %10 }")),
        text(kBatchNorm,
             "(%10 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, %0) \"bn\" "
             "{eps=1e-05, momentum=0.1, relu=1} return %10 }"));
}

TEST(Fuse, LetsTheResidualRideInInferencesBatchNorm) {
  EXPECT_GRAPH(fused(text(kBatchNorm, R"(
(%6 : f32[2, 3, 4, 4]) = batch_norm2d_inference(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
(%7 : f32[2, 3, 4, 4]) = add(%6, %0) "sum" return %7 })")),
               text(kBatchNorm, R"(
(%7 : f32[2, 3, 4, 4]) = batch_norm2d_inference(%0, %1, %2, %3, %4, %5, %0) "bn" {eps=1e-05, momentum=0.1} return %7 })"));
}

// The fused batch norm then runs at the place of the sum, after the node that computes the
// residual.
TEST(Fuse, MovesBatchNormBehindAResidualThatIsMadeLater) {
  EXPECT_GRAPH(
      fused(text(
          kBatchNorm, kBn,
          "(%9 : f32[2, 3, 4, 4]) = relu(%0) \"shortcut\" (%10 : f32[2, 3, 4, 4]) = add(%6, %9) \"sum\" return %10 }")),
      text(
          kBatchNorm, "(%9 : f32[2, 3, 4, 4]) = relu(%0) \"shortcut\" ",
          "(%10 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, %9) \"bn\" {eps=1e-05, momentum=0.1} return %10 }"));
}

// BatchNorm would otherwise wait, in its own stage, for a value of a later stage.
TEST(Fuse, KeepsAResidualOfALaterStageOutOfBatchNorm) {
  const std::string source =
      text(kBatchNorm, kBn,
           "(%9 : f32[2, 3, 4, 4]) = relu(%0) \"shortcut\" (%10 : f32[2, 3, 4, 4]) = add(%6, %9) \"sum\" return %10 }");
  Graph graph = parse_graph(source);
  fuse(graph, [](const std::string& layer) { return layer == "bn" ? 0 : 1; });
  EXPECT_GRAPH(graph, source);
  fuse(graph, [](const std::string&) { return 1; });
  EXPECT_EQ(graph.nodes().size(), 2u) << "and takes it within a stage";
}

TEST(Fuse, TakesOneOfTwoBatchNormsThatAreSummed) {
  EXPECT_GRAPH(fused(text(kBatchNorm, kBn, R"(
(%9 : f32[2, 3, 4, 4], %10 : f32[3], %11 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "shortcut" {eps=1e-05, momentum=0.1}
(%12 : f32[2, 3, 4, 4]) = add(%6, %9) "sum" return %12 })")),
               text(kBatchNorm, R"(
(%9 : f32[2, 3, 4, 4], %10 : f32[3], %11 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "shortcut" {eps=1e-05, momentum=0.1}
(%12 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, %9) "bn" {eps=1e-05, momentum=0.1} return %12 })"));
}

TEST(Fuse, KeepsASumOfABatchNormWithItself) {
  expect_left_alone(text(kBatchNorm, kBn, "(%9 : f32[2, 3, 4, 4]) = add(%6, %6) \"sum\" return %9 }"));
}

TEST(Fuse, KeepsASumWhoseBatchNormIsUsedElsewhere) {
  expect_left_alone(text(kBatchNorm, kBn, "(%9 : f32[2, 3, 4, 4]) = add(%6, %0) \"sum\" return %9, %6 }"));
}

TEST(Fuse, KeepsASecondSumBehindABatchNormThatHasAResidual) {
  EXPECT_GRAPH(
      fused(
          text(kBatchNorm, kBn,
               "(%9 : f32[2, 3, 4, 4]) = add(%6, %0) \"a\" (%10 : f32[2, 3, 4, 4]) = add(%9, %0) \"b\" return %10 }")),
      text(
          kBatchNorm,
          "(%9 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, %0) \"bn\" {eps=1e-05, momentum=0.1} ",
          "(%10 : f32[2, 3, 4, 4]) = add(%9, %0) \"b\" return %10 }"));
}

TEST(Fuse, KeepsASumBehindABatchNormThatCutsAlready) {
  expect_left_alone(
      text(kBatchNorm,
           "(%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) \"bn\" "
           "{eps=1e-05, momentum=0.1, relu=1} (%9 : f32[2, 3, 4, 4]) = add(%6, %0) \"sum\" return %9 }"));
}

TEST(Fuse, KeepsTheReluOfASumThatCutsAlready) {
  EXPECT_GRAPH(
      fused(text(kBatchNorm, kBn, "(%9 : f32[2, 3, 4, 4]) = add(%6, %0) \"sum\" {relu=1} return %9 }")),
      text(kBatchNorm,
           "(%9 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, %0) \"bn\" "
           "{eps=1e-05, momentum=0.1, relu=1} return %9 }"));
}

TEST(Fuse, KeepsAReluOfBatchNormsStatistics) {
  expect_left_alone(text(kBatchNorm, kBn, kBnOf6, "(%12 : f32[3]) = relu(%10) \"relu\" return %9, %12 }"));
}

// ---- flatten_linear ----

TEST(Fuse, HandsLinearAnImageAsItLies) {
  EXPECT_GRAPH(fused(R"(
graph "net" {
  %0 : f32[2, 3, 2, 2] samples "x"
  %1 : f32[5, 12] parameter "fc.weight"
  (%2 : f32[2, 3, 2, 2]) = relu(%0) "relu"
  (%3 : f32[2, 12]) = reshape(%2) "flatten" {shape=[-1]}
  (%4 : f32[2, 5]) = linear(%3, %1, _) "fc"
  return %4
})"),
               R"(
graph "net" {
  %0 : f32[2, 3, 2, 2] samples "x"
  %1 : f32[5, 12] parameter "fc.weight"
  (%2 : f32[2, 3, 2, 2]) = relu(%0) "relu"
  (%4 : f32[2, 5]) = linear(%2, %1, _) "fc"
  return %4
})");
}

TEST(Fuse, KeepsAFlatteningThatSomethingElseReads) {
  EXPECT_GRAPH(fused(R"(
graph "net" {
  %0 : f32[2, 3, 2, 2] samples "x"
  %1 : f32[5, 12] parameter "fc.weight"
  (%3 : f32[2, 12]) = reshape(%0) "flatten" {shape=[-1]}
  (%4 : f32[2, 5]) = linear(%3, %1, _) "fc"
  return %4, %3
})"),
               R"(
graph "net" {
  %0 : f32[2, 3, 2, 2] samples "x"
  %1 : f32[5, 12] parameter "fc.weight"
  (%3 : f32[2, 12]) = reshape(%0) "flatten" {shape=[-1]}
  (%4 : f32[2, 5]) = linear(%0, %1, _) "fc"
  return %4, %3
})");
}

TEST(Fuse, ChangesNothingTheSecondTime) {
  const Graph once = fused(
      text(kBatchNorm, kBn,
           "(%9 : f32[2, 3, 4, 4]) = add(%6, %0) \"sum\" (%10 : f32[2, 3, 4, 4]) = relu(%9) \"relu\" return %10 }"));
  expect_left_alone(print_graph(once));
}

TEST(CountUses, CountsReadersAndOutputs) {
  const Graph graph = parse_graph(
      R"(graph "net" { %0 : f32[2] samples "x" (%1 : f32[2]) = add(%0, %0) "sum" (%2 : f32[2]) = relu(%1) "a" return %2, %1 })");
  EXPECT_EQ(count_uses(graph), (std::vector<int>{2, 2, 1}));
}

}  // namespace
}  // namespace troika
