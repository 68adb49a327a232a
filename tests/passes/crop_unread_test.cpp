// Tests of crop_unread: only values that a later window reads are computed.
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

Graph cropped(const std::string& text) {
  Graph graph = parse_graph(text);
  crop_unread(graph);
  verify(graph);
  return graph;
}

TEST(CropUnread, CutsTheBorderThatPoolingLeavesOutThroughAWholeChain) {
  EXPECT_GRAPH(cropped(R"(
graph "lenet" {
  %0 : f32[1, 1, 28, 28] samples "x"
  %1 : f32[20, 1, 3, 3] parameter "conv1.weight"
  %2 : f32[50, 20, 5, 5] parameter "conv2.weight"
  (%3 : f32[1, 20, 26, 26]) = conv2d(%0, %1, _) "conv1" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], relu=1, stride=[1, 1]}
  (%4 : f32[1, 20, 13, 13]) = avg_pool2d(%3) "pool1" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%5 : f32[1, 50, 9, 9]) = conv2d(%4, %2, _) "conv2" {dilation=[1, 1], groups=1, kernel=[5, 5], padding=[0, 0], stride=[1, 1]}
  (%6 : f32[1, 50, 9, 9]) = relu(%5) "relu2"
  (%7 : f32[1, 50, 4, 4]) = avg_pool2d(%6) "pool2" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  return %7
})"),
               R"(
graph "lenet" {
  %0 : f32[1, 1, 28, 28] samples "x"
  %1 : f32[20, 1, 3, 3] parameter "conv1.weight"
  %2 : f32[50, 20, 5, 5] parameter "conv2.weight"
  (%8 : f32[1, 1, 26, 26]) = crop(%0) "x" {size=[26, 26]}
  (%3 : f32[1, 20, 24, 24]) = conv2d(%8, %1, _) "conv1" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], relu=1, stride=[1, 1]}
  (%4 : f32[1, 20, 12, 12]) = avg_pool2d(%3) "pool1" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%5 : f32[1, 50, 8, 8]) = conv2d(%4, %2, _) "conv2" {dilation=[1, 1], groups=1, kernel=[5, 5], padding=[0, 0], stride=[1, 1]}
  (%6 : f32[1, 50, 8, 8]) = relu(%5) "relu2"
  (%7 : f32[1, 50, 4, 4]) = avg_pool2d(%6) "pool2" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  return %7
})");
}

TEST(CropUnread, LeavesWhatABatchNormSees) {
  const std::string text = R"(
graph "net" {
  %0 : f32[2, 3, 9, 9] samples "x"
  %1 : f32[4, 3, 1, 1] parameter "conv.weight"
  %2 : f32[4] parameter "bn.weight"
  %3 : f32[4] parameter "bn.bias"
  %4 : f32[4] buffer "bn.running_mean"
  %5 : f32[4] buffer "bn.running_var"
  %6 : i64[] buffer "bn.num_batches_tracked"
  (%7 : f32[2, 4, 9, 9]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%8 : f32[2, 4, 9, 9], %9 : f32[4], %10 : f32[4]) = batch_norm2d(%7, %2, %3, %4, %5, %6, _) "bn" {eps=1e-05, momentum=0.1, relu=1}
  (%11 : f32[2, 4, 4, 4], %12 : i32[2, 4, 4, 4]) = max_pool2d(%8) "pool" {kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  return %11
})";
  EXPECT_GRAPH(cropped(text), text);
}

TEST(CropUnread, CropsOneAxisWhereTheOtherIsReadWhole) {
  const Graph graph = cropped(R"(
graph "net" {
  %0 : f32[1, 2, 11, 10] samples "x"
  %1 : f32[3, 2, 3, 3] parameter "conv.weight"
  (%2 : f32[1, 3, 9, 8]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], stride=[1, 1]}
  (%3 : f32[1, 3, 4, 4], %4 : i32[1, 3, 4, 4]) = max_pool2d(%2) "pool" {kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  return %3
})");
  EXPECT_EQ(graph.type(2).shape, (Shape{1, 3, 8, 8}));
  EXPECT_EQ(graph.nodes()[0].attributes.list("size"), (std::vector<int64_t>{10, 10}));
}

// If a second reader needs the whole input, both readers get the whole input.
TEST(CropUnread, LeavesAnInputThatSomebodyReadsWhole) {
  const std::string text = R"(
graph "net" {
  %0 : f32[1, 2, 11, 11] samples "x"
  (%1 : f32[1, 2, 5, 5]) = avg_pool2d(%0) "pool" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%2 : f32[1, 242]) = reshape(%0) "flatten" {shape=[-1]}
  return %1, %2
})";
  EXPECT_GRAPH(cropped(text), text);
}

// A padded convolution reads one row less at the far side. The outputs that change are not read.
TEST(CropUnread, CropsInputsOfPaddedConvolutions) {
  const Graph graph = cropped(R"(
graph "net" {
  %0 : f32[1, 2, 13, 13] samples "x"
  %1 : f32[3, 2, 3, 3] parameter "conv.weight"
  (%2 : f32[1, 3, 13, 13]) = conv2d(%0, %1, _) "conv" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[1, 1], stride=[1, 1]}
  (%3 : f32[1, 3, 3, 3]) = avg_pool2d(%2) "pool" {count_include_pad=1, kernel=[3, 3], padding=[0, 0], stride=[4, 4]}
  return %3
})");
  EXPECT_EQ(graph.nodes()[0].attributes.list("size"), (std::vector<int64_t>{12, 12}));
  EXPECT_EQ(graph.type(2).shape, (Shape{1, 3, 12, 12}));
  EXPECT_EQ(graph.type(3).shape, (Shape{1, 3, 3, 3}));
}

}  // namespace
}  // namespace troika
