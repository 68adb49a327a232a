// Tests of fuse_pools: convolutions that pool their result, and gradients that read a pooled dy.
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "passes/recompute.h"
#include "support/throws.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// A convolution with a pooling, and its backward pass, in parts that a test may change.
struct Layer {
  std::string height = "8", width = "6", relu = "1", bias = "%2", pool = "avg_pool2d",
              window = "kernel=[2, 2], padding=[0, 0], stride=[2, 2]";
  std::string places = "";          // a second output of the pooling
  std::string gradient = "%5, %6";  // the inputs of the pooling's gradient
  std::string more = "";            // nodes at the end
  std::string returned = "%7";
  std::string mask = "%12";  // the next value

  std::string size() const { return height + ", " + width; }
  std::string conv(const std::string& attributes) const {
    return " \"conv\" {" + attributes + "dilation=[1, 1], groups=1, ";
  }
  std::string rest(const std::string& value) const { return "relu=" + value + ", stride=[1, 1]"; }
  std::string begin() const {
    return R"(
graph "net" {
  %0 : f32[2, 3, )" +
           size() + R"(] samples "x"
  %1 : f32[5, 3, 3, 3] parameter "conv.weight"
  %2 : f32[5] parameter "conv.bias"
  %5 : f32[2, 5, 4, 3] input "dy"
)";
  }

  // Before the pass.
  std::string plain() const {
    const std::string image = "f32[2, 5, " + size() + "]";
    return begin() + "  (%6 : " + image + ") = conv2d(%0, %1, " + bias + ")" + conv("") +
           "kernel=[3, 3], padding=[1, 1], " + rest(relu) + "}\n  (%7 : f32[2, 5, 4, 3]" + places + ") = " + pool +
           "(%6) \"pool\" {" + (pool == "avg_pool2d" ? "count_include_pad=1, " : "") + window + "}\n  (%8 : " + image +
           ") = " + pool + "_gradient(" + gradient + ") \"pool\" {" +
           (pool == "avg_pool2d" ? "count_include_pad=1, " : "") + "input_shape=[2, 5, " + size() + "], " + window +
           "}\n" + gradients("%8", "", "") + more + "  return " + returned + ", %11\n}";
  }
  // After it.
  std::string fused(const std::string& kind) const {
    return begin() + "  (%7 : f32[2, 5, 4, 3], " + mask + " : u8[2, 5, 4, 3]) = conv2d(%0, %1, " + bias + ")" +
           conv("") + "kernel=[3, 3], padding=[1, 1], pool=" + kind + ", " + rest(relu) + "}\n" +
           gradients("%5", ", " + mask, "pool=" + kind + ", ") + more + "  return " + returned + ", %11\n}";
  }

 private:
  std::string gradients(const std::string& dy, const std::string& mask_input, const std::string& pooled) const {
    return "  (%9 : f32[5, 3, 3, 3] gradient \"conv.weight\", %10 : f32[5] gradient \"conv.bias\") = "
           "conv2d_weight_gradient(%0, " +
           dy + mask_input + ")" + conv("bias=1, ") + "kernel=[3, 3], padding=[1, 1], " + pooled + rest("0") +
           ", weight_shape=[5, 3, 3, 3]}\n  (%11 : f32[2, 3, " + size() + "]) = conv2d_input_gradient(%1, " + dy +
           mask_input + ")" + conv("") + "input_shape=[2, 3, " + size() + "], kernel=[3, 3], padding=[1, 1], " +
           pooled + rest("0") + "}\n";
  }
};

Layer max_layer() {
  return {.pool = "max_pool2d", .places = ", %12 : i32[2, 5, 4, 3]", .gradient = "%12, %5, %6", .mask = "%13"};
}

Graph run_on(const std::string& text, bool fuses = true) {
  Graph graph = parse_graph(text);
  fuse_pools(graph, [=](const Graph&, const Node&, const Node&) { return fuses; });
  verify(graph);
  return graph;
}

void expect_left(const Layer& layer) { EXPECT_GRAPH(run_on(layer.plain()), layer.plain()); }

TEST(FusePools, TakeAnAverageIntoTheConvolution) {
  const Layer layer;
  EXPECT_GRAPH(run_on(layer.plain()), layer.fused("1"));
}

TEST(FusePools, TakeAMaximumIntoTheConvolution) { EXPECT_GRAPH(run_on(max_layer().plain()), max_layer().fused("2")); }

TEST(FusePools, NeedNoRelu) {
  Layer average{.relu = "0", .gradient = "%5"}, max = max_layer();
  max.relu = "0";
  max.gradient = "%12, %5";
  EXPECT_GRAPH(run_on(average.plain()), average.fused("1"));
  EXPECT_GRAPH(run_on(max.plain()), max.fused("2"));
}

TEST(FusePools, NeedNoBias) {
  const Layer layer{.bias = "_"};
  EXPECT_GRAPH(run_on(layer.plain()), layer.fused("1"));
}

TEST(FusePools, LeaveWhatTheDeviceDoesNotFuse) {
  const Layer layer;
  EXPECT_GRAPH(run_on(layer.plain(), false), layer.plain());
}

TEST(FusePools, AskForTheConvolutionAndItsPooling) {
  Graph graph = parse_graph(max_layer().plain());
  fuse_pools(graph, [](const Graph& of, const Node& conv2d, const Node& pool) {
    EXPECT_EQ(conv2d.op, &conv2d_op);
    EXPECT_EQ(of.type(conv2d.outputs[0]).shape, Shape({2, 5, 8, 6}));
    EXPECT_EQ(pool.op, &max_pool2d_op);
    return false;
  });
}

TEST(FusePools, LeaveAResultThatIsReadElsewhere) {
  expect_left({.more = "  (%12 : f32[2, 5, 8, 6]) = gelu(%6) \"reader\"\n", .returned = "%12"});
  expect_left({.returned = "%6"});
}

TEST(FusePools, LeaveAGradientThatIsReadElsewhere) {
  expect_left({.more = "  (%12 : f32[2, 5, 8, 6]) = gelu(%8) \"reader\"\n", .returned = "%12"});
  expect_left({.returned = "%8"});
}

TEST(FusePools, LeavePlacesThatAreReadElsewhere) {
  Layer layer = max_layer();
  layer.returned = "%12";
  expect_left(layer);
}

// As if they were apart: of the pooling only the pooled image is dropped, not the mask.
TEST(FusePools, AreTwoLayersToRecompute) {
  const Graph graph = run_on(
      Layer{.more = "  (%12 : f32[2, 5, 4, 3]) = gelu(%7) \"next\"\n", .returned = "%12", .mask = "%13"}.plain());
  const Node& conv2d = graph.nodes()[0];
  ASSERT_EQ(conv2d.outputs.size(), 2u);
  const Dropped pool = drop_layers(graph, {"po*"}), conv = drop_layers(graph, {"conv"});
  EXPECT_TRUE(pool[conv2d.outputs[0]]);
  EXPECT_FALSE(pool[conv2d.outputs[1]]);
  EXPECT_TRUE(conv[conv2d.outputs[0]]);
  EXPECT_TRUE(conv[conv2d.outputs[1]]);
  EXPECT_THROWS(Status::not_found, "relu", drop_layers(graph, {"relu"}));
}

TEST(FusePools, LeaveLayersOfTwoStages) {
  const auto fused_in = [](int stage_of_pool) {
    Graph graph = parse_graph(Layer().plain());
    fuse_pools(
        graph, [](const Graph&, const Node&, const Node&) { return true; },
        [=](const std::string& layer) { return layer == "pool" ? stage_of_pool : 0; });
    return graph;
  };
  EXPECT_GRAPH(fused_in(1), Layer().plain());
  EXPECT_GRAPH(fused_in(0), Layer().fused("1"));
}

TEST(FusePools, LeaveASizeThatIsOdd) {
  expect_left({.height = "9"});
  expect_left({.width = "7"});
}

TEST(FusePools, LeaveOtherWindows) {
  expect_left({.height = "9", .window = "kernel=[3, 2], padding=[0, 0], stride=[2, 2]"});
  expect_left({.height = "5", .window = "kernel=[2, 2], padding=[0, 0], stride=[1, 2]"});
  expect_left({.height = "6", .window = "kernel=[2, 2], padding=[1, 0], stride=[2, 2]"});
  expect_left({.width = "7", .window = "kernel=[2, 3], padding=[0, 0], stride=[2, 2]"});
  expect_left({.width = "4", .window = "kernel=[2, 2], padding=[0, 0], stride=[2, 1]"});
  expect_left({.width = "4", .window = "kernel=[2, 2], padding=[0, 1], stride=[2, 2]"});
}

// As if the ReLU's gradient was a node of its own.
TEST(FusePools, LeaveAGradientWithoutTheRelu) { expect_left({.gradient = "%5"}); }

TEST(FusePools, LeaveTheReluOfAnotherLayer) { expect_left({.relu = "0"}); }

TEST(FusePools, LeaveTheGradientOfAnotherConvolution) {
  std::string text = Layer().plain();
  const size_t place = text.find("conv2d_input_gradient(%1, %8) \"conv\"");
  text.replace(text.find("\"conv\"", place), 6, "\"next\"");
  EXPECT_GRAPH(run_on(text), text);
}

// As if the pooled image had been dropped, and was computed again for a later reader.
TEST(FusePools, LeaveAConvolutionThatComesLater) {
  std::string text = Layer{.relu = "0", .gradient = "%5"}.plain();
  const size_t begin = text.find("  (%6"), end = text.find("  (%8");
  const std::string forward = text.substr(begin, end - begin);
  text.insert(text.find("  return"), forward);
  text.erase(begin, forward.size());
  EXPECT_GRAPH(run_on(text), text);
}

// A pooled convolution has no room for sums.
TEST(FusePools, LeaveNothingForFuseSums) {
  Layer layer{.relu = "0",
              .bias = "_",
              .gradient = "%5",
              .more =
                  "  (%12 : f32[2, 5, 4, 3], %13 : f32[5], %14 : f32[5]) = batch_norm2d(%7, %2, %2, _, _, _, _) "
                  "\"bn\" {eps=1e-05, momentum=0.1, relu=0}\n",
              .returned = "%12",
              .mask = "%15"};
  Graph graph = run_on(layer.plain());
  fuse_sums(graph, {.rows = [](const Graph&, const Node&) { return int64_t{7}; },
                    .has_mask = [](const Graph&, const Node&) { return true; }});
  verify(graph);
  EXPECT_GRAPH(graph, layer.fused("1"));
}

}  // namespace
}  // namespace troika
