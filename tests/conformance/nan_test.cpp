// NaN must stay visible: a ReLU that turned NaN into 0 would hide that training has failed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "conformance/cases.h"
#include "conformance/node_runner.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/test_context.h"
#include "support/test_device.h"
#include "train/trainer.h"

namespace troika {
namespace {

double loss_with_a_nan(const std::string& model_name, bool fuse) {
  auto context = std::make_shared<Context>(test_context_options());
  std::shared_ptr<Model> model = create_model(model_name, {});
  TrainerOptions options;
  options.fuse = fuse;
  Trainer trainer(context, model, test_devices(1), options);
  Batch batch;
  batch.shape = Shape{4, 1, 28, 28};
  batch.inputs.assign(4 * 784, 0.5f);
  batch.inputs[100] = std::numeric_limits<float>::quiet_NaN();
  batch.labels = {0, 1, 2, 3};
  StepResult result;
  trainer.step(batch, result);
  return result.loss;
}

double recurrent_loss_with_a_nan(bool is_lstm, bool fuse) {
  auto model = std::make_shared<Model>("net");
  ValueId x = model->add_input("x", {9, 3});
  x = is_lstm ? add_lstm(*model, "rnn", x, 5, true) : add_gru(*model, "rnn", x, 5, true);
  model->set_output(add_linear(*model, "fc", add_select_step(*model, "last", x, -1), 4, true));
  TrainerOptions options;
  options.fuse = fuse;
  Trainer trainer(std::make_shared<Context>(test_context_options()), model, test_devices(1), options);
  Batch batch;
  batch.shape = Shape{2, 9, 3};
  batch.inputs.assign(2 * 27, 0.5f);
  batch.inputs[1] = std::numeric_limits<float>::quiet_NaN();  // in the first step
  batch.labels = {0, 1};
  StepResult result;
  trainer.step(batch, result);
  return result.loss;
}

TEST(NaN, in_an_image_reaches_the_maximum_of_every_window_that_covers_it) {
  NodeRunner runner(2);
  for (const Case& c : all_cases()) {
    if (c.op != "max_pool2d") continue;
    const CaseGraph g = build(c);
    const Node& node = g.graph.nodes().front();
    const ValueId image = node.inputs[0];
    Random random(1);
    Values values = draw(c, g, random);
    for (int64_t i = values[image].elements() / 2 % 37; i < values[image].elements(); i += 37)
      values[image][i] = std::numeric_limits<double>::quiet_NaN();
    evaluate_reference(g.graph, node, values, true);
    const Array& expected = values[node.outputs[0]];
    runner.run([&] {
      std::vector<LayoutPtr> layouts = runner.image_layouts(g.graph.type(image));
      layouts.push_back(nullptr);
      for (const LayoutPtr& layout : layouts) {
        const auto result = runner.run_node(g.graph, node, {runner.hold(g.graph.type(image), values[image], layout)});
        const Array found = runner.read(result.outputs[0]);
        int64_t lost = 0, differing = 0;
        for (int64_t i = 0; i < expected.elements(); ++i) {
          lost += std::isnan(expected[i]) && !std::isnan(found[i]);
          differing += !std::isnan(expected[i]) && found[i] != expected[i];
        }
        EXPECT_EQ(lost, 0) << name_of(c) << " in " << (layout ? layout->name() : "rows") << " of " << result.kernel;
        EXPECT_EQ(differing, 0) << name_of(c) << " in " << (layout ? layout->name() : "rows");
      }
    });
  }
}

// GELU is 0 at -infinity and infinite at infinity. Its slope is 0 and 1 there. NaN stays NaN.
TEST(NaN, stays_in_gelu_and_infinities_have_its_limits) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  NodeRunner runner(1);
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const CaseGraph g = build({"gelu", {TensorType{dtype, {5, 7}}}, {}});
    Array x(Shape{5, 7}), dy(Shape{5, 7});
    for (int64_t i = 0; i < x.elements(); ++i) {
      x[i] = i % 3 == 0 ? kNaN : i % 3 == 1 ? kInfinity : -kInfinity;
      dy[i] = 2;
    }
    for (const Node& node : g.graph.nodes())
      runner.run([&] {
        const bool is_gradient = node.op == &gelu_gradient_op;
        std::vector<Held> inputs = {runner.hold(g.graph.type(g.inputs[0]), x, nullptr)};
        if (is_gradient) inputs.push_back(runner.hold(g.graph.type(g.dy), dy, nullptr));
        const Array found = runner.read(runner.run_node(g.graph, node, inputs).outputs[0]);
        for (int64_t i = 0; i < x.elements(); ++i) {
          if (i % 3 == 0)
            EXPECT_TRUE(std::isnan(found[i])) << node.op << ' ' << name_of(dtype);
          else
            EXPECT_EQ(found[i], i % 3 == 2 ? 0 : is_gradient ? 2 : kInfinity) << node.op << ' ' << name_of(dtype);
        }
      });
  }
}

// One kernel does as the kernels that it takes the place of: rows with NaN, infinities, labels that
// are no class, a label that is ignored with a weight that is not finite.
TEST(NaN, passes_a_classifier_as_its_kernels_one_by_one) {
  if (is_on_cpu()) GTEST_SKIP() << "a CPU computes the last layer and its loss one by one";
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr int64_t kRows = 8, kFeatures = 5, kClasses = 3;
  NodeRunner runner(1);
  for (const bool has_weights : {false, true}) {
    Array x({kRows, kFeatures}), weight({kClasses, kFeatures}), labels({kRows}), weights({kRows});
    Random random(3);
    for (double& v : x.data) v = std::max(0.0, random.normal());
    for (double& v : weight.data) v = random.normal();
    for (int64_t i = 0; i < kRows; ++i) {
      labels[i] = static_cast<double>(i % kClasses);
      weights[i] = 1.5;
    }
    x[1 * kFeatures + 2] = kNaN;
    x[2 * kFeatures] = kInfinity;
    weights[3] = kInfinity;  // of the label that is ignored
    labels[3] = 7;
    labels[4] = has_weights ? 1 : -1;
    labels[5] = has_weights ? 0 : kClasses;
    Graph graph;
    const auto add = [&](DType dtype, Shape shape) {
      return graph.add_value("", {dtype, std::move(shape)}, Role::input);
    };
    const ValueId in = add(DType::f32, x.shape), w = add(DType::f32, weight.shape), target = add(DType::i32, {kRows}),
                  each = has_weights ? add(DType::f32, {kRows}) : kNoValue;
    const Attributes of_loss = {{"scale", 0.5}, {"ignore_index", int64_t{7}}};
    Attributes of_all = of_loss;
    of_all.set("input_relu", int64_t{1});
    const auto all =
        append_node(graph, linear_cross_entropy_op, "all", {in, w, kNoValue, target, kNoValue, kNoValue, each}, of_all);
    const ValueId y = append_node(graph, linear_op, "fc", {in, w, kNoValue})[0];
    const auto loss = append_node(graph, cross_entropy_op, "loss", {y, target, kNoValue, kNoValue, each}, of_loss);
    const ValueId dy =
        append_node(graph, cross_entropy_gradient_op, "loss", {loss[2], target, kNoValue, kNoValue, each}, of_loss)[0];
    const ValueId dx =
        append_node(graph, linear_input_gradient_op, "fc", {w, dy}, {{"input_shape", x.shape.dims()}})[0];
    const ValueId before = append_node(graph, relu_gradient_op, "relu", {in, dx})[0];
    std::map<ValueId, Held> held;
    runner.run([&] {
      held[in] = runner.hold(graph.type(in), x, nullptr);
      held[w] = runner.hold(graph.type(w), weight, nullptr);
      held[target] = runner.hold(graph.type(target), labels, nullptr);
      if (has_weights) held[each] = runner.hold(graph.type(each), weights, nullptr);
      for (const Node& node : graph.nodes()) {
        std::vector<Held> inputs;
        for (ValueId id : node.inputs) inputs.push_back(id == kNoValue ? Held() : held[id]);
        const auto outputs = runner.run_node(graph, node, inputs).outputs;
        for (size_t i = 0; i < outputs.size(); ++i) held[node.outputs[i]] = outputs[i];
      }
      const ValueId expected[] = {loss[0], loss[1], dy, before};
      int differing = 0, lost = 0;
      for (size_t i = 0; i < all.size(); ++i) {
        const Array found = runner.read(held[all[i]]), by_parts = runner.read(held[expected[i]]);
        for (int64_t k = 0; k < found.elements(); ++k) {
          differing += std::isnan(found[k]) != std::isnan(by_parts[k]) || std::abs(found[k] - by_parts[k]) > 1e-5;
          lost += std::isnan(found[k]);
        }
      }
      EXPECT_EQ(differing, 0) << has_weights;
      EXPECT_GT(lost, kFeatures) << has_weights;  // at least the loss, a row of dy, and a part of a row of dx
    });
  }
}

TEST(NaN, in_the_input_reaches_the_loss_fused_or_not) {
  for (const char* model : {"mlp", "d2l_lenet", "d2l_resnet18"})
    for (bool fuse : {false, true})
      EXPECT_TRUE(std::isnan(loss_with_a_nan(model, fuse))) << model << (fuse ? " fused" : "");
}

TEST(NaN, in_the_first_step_reaches_the_loss_of_the_last) {
  for (bool is_lstm : {false, true})
    for (bool fuse : {false, true})
      EXPECT_TRUE(std::isnan(recurrent_loss_with_a_nan(is_lstm, fuse))) << is_lstm << fuse;
}

}  // namespace
}  // namespace troika
