// Tests of close_gaps: input gradients that are stored without the zeros that a stride leaves.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// The attributes of an input gradient.
std::string window(const std::string& shape, int stride, int kernel = 1, const std::string& more = "") {
  const auto pair = [](int n) { return "[" + std::to_string(n) + ", " + std::to_string(n) + "]"; };
  return "{dilation=[1, 1], groups=1, input_shape=" + shape + ", kernel=" + pair(kernel) +
         ", padding=" + pair(kernel / 2) + ", relu=0, stride=" + pair(stride) + more + "}";
}

// Returns a graph with a shortcut's input gradient %6 of this type and these attributes, followed
// by `nodes`.
std::string backward(const std::string& type, const std::string& attributes, const std::string& nodes, int kernel = 1) {
  const std::string side = std::to_string(kernel);
  return R"(
graph "net" {
  %0 : f32[2, 3, 5, 6] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[7, 3, )" +
         side + ", " + side + R"(] parameter "shortcut.weight"
  %5 : f32[2, 7, 3, 3] input "dy"
  %12 : f32[2, 3, 5, 6] input "other"
  (%6 : )" +
         type + ") = conv2d_input_gradient(%4, %5) \"shortcut\" " + attributes + "\n" + nodes + "}";
}

std::string norm_gradient(const std::string& dy, const std::string& addend, const std::string& attributes,
                          const std::string& outputs = "%8, %9, %10, %11") {
  return "  (%8 : f32[2, 3, 5, 6], %9 : f32[3], %10 : f32[3], %11 : f32[2, 3, 5, 6]) = "
         "batch_norm2d_gradient(%0, %1, %2, %3, _, " +
         dy + ", _, _, " + addend + ") \"bn\" {" + attributes + "relu=0, residual=1}\n  return " + outputs + "\n";
}

const std::string kWhole = "f32[2, 3, 5, 6]", kSmall = "f32[2, 3, 3, 3]";
const std::string kWithGaps = window("[2, 3, 5, 6]", 2), kWithout = window("[2, 3, 3, 3]", 1);

Graph closed(const std::string& text, bool adds = true) {
  Graph graph = parse_graph(text);
  close_gaps(graph, [=](const Graph&, const Node&, int64_t) { return adds; });
  verify(graph);
  return graph;
}

TEST(CloseGaps, StoresTheAddendWithoutZeros) {
  for (const auto& [dy, addend] : {std::pair("%12", "%6"), std::pair("%6", "%12")})
    EXPECT_GRAPH(closed(backward(kWhole, kWithGaps, norm_gradient(dy, addend, ""))),
                 backward(kSmall, kWithout, norm_gradient("%12", "%6", "addend_stride=2, ")));
}

// The kernel of another convolution's input gradient adds it (fuse_sums).
TEST(CloseGaps, StoresTheAddendOfAnInputGradientWithoutZeros) {
  const auto fused = [](const std::string& more) {
    return R"(  %13 : f32[7, 3, 3, 3] parameter "conv.weight"
  %14 : u8[22] input "mask"
  (%8 : f32[2, 3, 5, 6], %9 : f32[4, 7]) = conv2d_input_gradient(%13, %5, %0, %14, %1, %1, %2, %3, %6) "conv" )" +
           ("{" + more + window("[2, 3, 5, 6]", 2, 3, ", sums=4").substr(1)) + "\n  return %8, %9\n";
  };
  EXPECT_GRAPH(closed(backward(kWhole, kWithGaps, fused(""))), backward(kSmall, kWithout, fused("addend_stride=2, ")));
}

TEST(CloseGaps, LeavesWhatTheKernelCannotAdd) {
  const std::string text = backward(kWhole, kWithGaps, norm_gradient("%12", "%6", ""));
  EXPECT_GRAPH(closed(text, false), text);
}

TEST(CloseGaps, LeavesImagesThatOthersRead) {
  for (const std::string& nodes :
       {norm_gradient("%12", "%6", "", "%6, %8, %9, %10, %11"), norm_gradient("%6", "%6", ""),
        "  (%7 : f32[2, 3, 5, 6]) = add(%6, %12) \"x\"\n" + norm_gradient("%7", "%6", "", "%7, %8, %9, %10, %11")}) {
    const std::string text = backward(kWhole, kWithGaps, nodes);
    EXPECT_GRAPH(closed(text), text);
  }
}

TEST(CloseGaps, LeavesImagesWithoutGaps) {
  const std::string nodes = norm_gradient("%12", "%6", "");
  const std::string wide = backward(kWhole, window("[2, 3, 5, 6]", 2, 3), nodes, 3);
  EXPECT_GRAPH(closed(wide), wide);
  std::string plain = backward(kWhole, window("[2, 3, 5, 6]", 1), nodes);
  plain.replace(plain.find("f32[2, 7, 3, 3]"), 15, "f32[2, 7, 5, 6]");
  EXPECT_GRAPH(closed(plain), plain);
}

TEST(CloseGaps, LeavesStridesThatDiffer) {
  std::string text = backward("f32[2, 3, 3, 6]", window("[2, 3, 3, 6]", 1), norm_gradient("%12", "%6", ""));
  for (size_t at = 0; (at = text.find("[2, 3, 5, 6]", at)) != std::string::npos;) text.replace(at, 12, "[2, 3, 3, 6]");
  text.replace(text.find("stride=[1, 1]"), 13, "stride=[1, 2]");
  EXPECT_GRAPH(closed(text), text);
}

TEST(CloseGaps, LeavesPadding) {
  std::string text = backward(kWhole, window("[2, 3, 5, 6]", 3), norm_gradient("%12", "%6", ""));
  text.replace(text.find("padding=[0, 0]"), 14, "padding=[1, 1]");
  EXPECT_GRAPH(closed(text), text);
}

TEST(CloseGaps, ClosesThoseOfOneTermAndAsksForItsStride) {
  std::string text = backward(kWhole, window("[2, 3, 5, 6]", 3),
                              "  (%7 : f32[2, 3, 5, 6]) = conv2d_input_gradient(%4, %5) \"other\" " +
                                  window("[2, 3, 5, 6]", 3) + "\n" + norm_gradient("%7", "%6", ""));
  for (size_t at = 0; (at = text.find("f32[2, 7, 3, 3]", at)) != std::string::npos;)
    text.replace(at, 15, "f32[2, 7, 2, 2]");
  Graph graph = parse_graph(text);
  std::vector<int64_t> asked;
  close_gaps(graph, [&](const Graph&, const Node&, int64_t stride) {
    asked.push_back(stride);
    return true;
  });
  verify(graph);
  EXPECT_EQ(asked, std::vector<int64_t>{3});
  EXPECT_EQ(graph.nodes()[0].attributes.list("input_shape"), (std::vector<int64_t>{2, 3, 2, 2}));
  EXPECT_EQ(graph.nodes()[1].attributes.list("stride"), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(graph.nodes()[2].attributes.integer("addend_stride"), 3);
}

TEST(CloseGaps, RefusesAnAddendOfAnotherSize) {
  for (const char* attributes : {"addend_stride=3, ", "addend_stride=0, ", ""})
    EXPECT_THROW(verify(parse_graph(backward(kSmall, kWithout, norm_gradient("%12", "%6", attributes)))), Error)
        << attributes;
  EXPECT_NO_THROW(verify(parse_graph(backward(kSmall, kWithout, norm_gradient("%12", "%6", "addend_stride=2, ")))));
}

}  // namespace
}  // namespace troika
