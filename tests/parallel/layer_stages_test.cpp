// Tests of cutting a model into stages: by cost, by names, and the stages of nodes that passes
// insert.
#include "parallel/layer_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/layers.h"
#include "models/zoo.h"
#include "ops/op_def.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "passes/precision.h"
#include "support/throws.h"

namespace troika {
namespace {

std::vector<double> operations_of(const Graph& model, const LayerStages& stages) {
  std::vector<double> sums(static_cast<size_t>(stages.count()), 0);
  for (const Node& node : model.nodes())
    sums[static_cast<size_t>(stages.stage_of(node.name))] += cost_of(model, node).operations;
  return sums;
}

TEST(LayerStages, AreRunsOfLayersOfAboutEqualCost) {
  for (const char* name : {"d2l_lenet", "d2l_resnet18", "resnet50", "mlp"}) {
    const auto model = create_model(name, {});
    for (int count : {1, 2, 3, 4}) {
      const LayerStages stages(model->graph(), count);
      int last = 0;
      for (const Node& node : model->graph().nodes()) {
        const int stage = stages.stage_of(node.name);
        EXPECT_TRUE(stage == last || stage == last + 1) << name << ": '" << node.name << "' is in stage " << stage;
        last = stage;
      }
      EXPECT_EQ(last, count - 1) << name;
    }
  }
  // The slowest stage of a deep network has only slightly more than its share of the cost.
  const auto model = create_model("resnet50", {});
  for (int count : {2, 4, 8}) {
    const auto sums = operations_of(model->graph(), LayerStages(model->graph(), count));
    EXPECT_LT(*std::max_element(sums.begin(), sums.end()),
              1.25 / count * std::accumulate(sums.begin(), sums.end(), 0.0))
        << count << " stages";
  }
}

// A parameter is on one stage, and so are all layers from the first that reads it to the last.
TEST(LayerStages, KeepLayersThatShareAParameterTogether) {
  Model model("net");
  ValueId x = add_linear(model, "a", model.add_input("x", {8}), 8, true);
  x = add_linear(model, "b", x, 8, true);
  x = add_relu(model, "relu", x);
  model.share_parameter("c.weight", "b.weight");
  x = add_linear(model, "c", x, 8, true);
  model.set_output(add_linear(model, "d", x, 8, true));
  const LayerStages three(model.graph(), 3);
  EXPECT_EQ(three.stage_of("a"), 0);
  for (const char* name : {"b", "relu", "c"}) EXPECT_EQ(three.stage_of(name), 1) << name;
  EXPECT_EQ(three.stage_of("d"), 2);
  EXPECT_THROWS(Status::invalid_argument,
                "has 3 layers, if all between two that share a parameter count as one, cannot be cut into 4 stages",
                LayerStages(model.graph(), 4));
  EXPECT_THROWS(Status::invalid_argument, "layer 'c' is between layers that share a parameter",
                LayerStages(model.graph(), 2, {"c"}));
  EXPECT_EQ(LayerStages(model.graph(), 2, {"b"}).stage_of("c"), 1);
}

TEST(LayerStages, KeepTheNodesOfALayerTogether) {
  Model model("net");
  ValueId x = add_lstm(model, "rnn1", model.add_input("x", {100, 8}), 16, true);  // ten nodes and more
  x = add_lstm(model, "rnn2", x, 16, true);
  model.set_output(add_linear(model, "fc", add_select_step(model, "last", x, -1), 5, true));
  const LayerStages two(model.graph(), 2), four(model.graph(), 4);
  EXPECT_EQ(two.stage_of("rnn1"), 0);
  EXPECT_EQ(two.stage_of("rnn2"), 1);
  EXPECT_EQ(two.stage_of_state("rnn1.weight_hh_l0"), 0);
  EXPECT_EQ(four.stage_of("fc"), 3);
  EXPECT_EQ(LayerStages(model.graph(), 2, {"rnn2"}).stage_of("last"), 1);
  EXPECT_THROWS(Status::invalid_argument, "model 'net' has 4 layers, cannot be cut into 5 stages",
                (LayerStages(model.graph(), 5), 0));
}

// The widths are the outputs of eight layers without bias.
TEST(LayerStages, KeepLittleWhereThatCostsLittleTime) {
  const auto first_of_second = [](const std::vector<int64_t>& widths) {
    Model model("net");
    ValueId x = model.add_input("x", {512});
    for (size_t i = 0; i < widths.size(); ++i) x = add_linear(model, "fc" + std::to_string(i), x, widths[i], false);
    model.set_output(x);
    const LayerStages stages(model.graph(), 2);
    size_t first = 0;
    while (stages.stage_of("fc" + std::to_string(first)) == 0) ++first;
    return first;
  };
  // The first stage keeps the activations of two micro-batches. So a layer moves to the second
  // stage, if that costs no time.
  EXPECT_EQ(first_of_second({512, 512, 512, 512, 512, 512, 512, 512}), 4);
  EXPECT_EQ(first_of_second({512, 512, 512, 512, 512, 512, 512, 2}), 3);
}

TEST(LayerStages, CutAModelWithAHeadThatNothingReads) {  // the head's parameters are frozen
  Model model("net");
  const ValueId x = add_linear(model, "fc1", model.add_input("x", {64}), 64, false);
  const ValueId y = add_linear(model, "fc2", x, 64, false);
  add_linear(model, "head", x, 64, false);
  model.set_output(y);
  EXPECT_EQ(LayerStages(model.graph(), 2).stage_of("fc1"), 0);
}

// The node without a layer is the crop of the input, which two layers read.
TEST(LayerStages, MakeWhatBelongsToNoLayerWhereItIsReadFirst) {
  Model model("net");
  const ValueId x = model.add_input("x", {1, 7, 7});
  const ConvOptions conv{2, {{2, 2}, {3, 3}, {0, 0}, {1, 1}}, 1, false};
  const ValueId y = add_conv2d(model, "a", x, conv);
  model.set_output(add_sum(model, "sum", y, add_conv2d(model, "b", x, conv)));
  Graph graph = model.graph();
  crop_unread(graph);
  ASSERT_EQ(graph.nodes()[0].op, &crop_op);
  const LayerStages stages(model.graph(), 2, {"b"});
  EXPECT_EQ(stages.assign(graph), (std::vector<int>{0, 0, 1, 1}));
  const ValueId cropped = graph.nodes()[0].outputs[0];
  for (ValueId id = 0; id < graph.values().size(); ++id)
    EXPECT_EQ(stages.find_crossing(graph)[id], id == cropped || id == graph.nodes()[1].outputs[0]) << id;
}

TEST(LayerStages, BeginWhereAsked) {
  const auto model = create_model("d2l_lenet", {});
  const LayerStages stages(model->graph(), 3, {"conv2", "fc2"});
  EXPECT_EQ(stages.stage_of("conv1"), 0);
  EXPECT_EQ(stages.stage_of("conv2"), 1);
  EXPECT_EQ(stages.stage_of("fc1"), 1);
  EXPECT_EQ(stages.stage_of("fc2"), 2);
  EXPECT_EQ(stages.stage_of_state("conv2.bias"), 1);
  EXPECT_EQ(stages.stage_of("loss"), -1);
}

TEST(LayerStages, HaveEveryNodeOfAStepWhereItsStateLies) {
  for (const char* name : {"d2l_resnet18", "resnet50", "d2l_lenet"})
    for (DType compute : {DType::f32, DType::bf16}) {
      const auto model = create_model(name, {});
      const LayerStages stages(model->graph(), 4);
      Graph graph = rebatch(model->graph(), 2);
      append_loss(graph, {.kind = Loss::cross_entropy, .scale = 0.5});
      fuse(graph);
      crop_unread(graph);
      if (compute != DType::f32) mixed_precision(graph, compute);
      const size_t forward = graph.nodes().size();
      std::vector<std::string> trainable;
      for (const Value& value : graph.values())
        if (value.role == Role::parameter) trainable.push_back(value.name);
      autodiff(graph, trainable);
      const std::vector<int> of_node = stages.assign(graph);
      int last = 0;
      for (size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        if (i < forward && node.op != &cast_op) {
          EXPECT_GE(of_node[i], last) << name << ": " << node.op << " '" << node.name << "' goes back";
          last = of_node[i];
        }
        for (ValueId id : node.inputs) {
          if (id == kNoValue || !is_state(graph.value(id).role)) continue;
          EXPECT_EQ(of_node[i], stages.stage_of_state(graph.value(id).name))
              << name << ": " << node.op << " '" << node.name << "' reads " << graph.value(id).name;
        }
        for (ValueId id : node.outputs) {
          if (graph.value(id).role != Role::gradient) continue;
          EXPECT_EQ(of_node[i], stages.stage_of_state(graph.value(id).name)) << graph.value(id).name;
        }
      }
    }
}

}  // namespace
}  // namespace troika
