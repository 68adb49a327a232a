// Tests of whole graphs: autodiff against finite differences, and fusion, which must not change
// results.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "conformance/random.h"
#include "conformance/reference/reference.h"
#include "core/text.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "passes/passes.h"
#include "plan/compile.h"
#include "support/test_context.h"
#include "support/test_device.h"
#include "train/state_reader.h"
#include "train/trainer.h"

namespace troika {
namespace {

Window square(int64_t kernel, int64_t stride = 1, int64_t padding = 0) {
  return {{kernel, kernel}, {stride, stride}, {padding, padding}, {1, 1}};
}

// Returns a residual block as in ResNet, with BatchNorm between two convolutions and a convolution
// in the shortcut.
std::unique_ptr<Model> residual_block() {
  auto model = std::make_unique<Model>("block");
  ValueId x = model->add_input("x", {3, 6, 5});
  x = add_relu(*model, "relu0",
               add_batch_norm2d(*model, "bn0", add_conv2d(*model, "conv0", x, {20, square(3, 1, 1), 1, false})));
  ValueId y =
      add_relu(*model, "relu1",
               add_batch_norm2d(*model, "bn1", add_conv2d(*model, "conv1", x, {20, square(3, 1, 1), 1, false})));
  y = add_batch_norm2d(*model, "bn2", add_conv2d(*model, "conv2", y, {20, square(3, 1, 1), 1, false}));
  x = add_relu(*model, "relu2", add_sum(*model, "sum", y, x));  // x is read twice
  y = add_batch_norm2d(*model, "bn3", add_conv2d(*model, "conv3", x, {17, square(3, 2, 1), 1, true}));
  ValueId shortcut = add_conv2d(*model, "shortcut", x, {17, square(1, 2), 1, false});
  x = add_relu(*model, "relu3", add_sum(*model, "sum2", shortcut, y));
  x = add_adaptive_avg_pool2d(*model, "pool", x, 1, 1);
  model->set_output(add_linear(*model, "fc", add_flatten(*model, "flatten", x), 5, true));
  return model;
}

std::unique_ptr<Model> small_lenet() {
  auto model = std::make_unique<Model>("lenet");
  ValueId x = model->add_input("x", {1, 13, 12});
  x = add_relu(*model, "relu1", add_conv2d(*model, "conv1", x, {6, square(3), 1, true}));
  x = add_gelu(*model, "gelu", add_avg_pool2d(*model, "pool1", x, square(2, 2)));
  x = add_relu(*model, "relu2", add_conv2d(*model, "conv2", x, {20, square(3), 1, true}));
  x = add_max_pool2d(*model, "pool2", x, square(2, 1));
  x = add_relu(*model, "relu3", add_linear(*model, "fc1", add_flatten(*model, "flatten", x), 17, true));
  x = add_dropout(*model, "drop", x, 0.25);
  model->set_output(add_linear(*model, "fc2", x, 5, true));
  return model;
}

// Returns a model with a value that three nodes read, one of them twice.
std::unique_ptr<Model> shared_value() {
  auto model = std::make_unique<Model>("shared");
  ValueId x = add_conv2d(*model, "conv1", model->add_input("x", {3, 6, 5}), {4, square(3, 1, 1), 1, true});
  ValueId twice = add_sum(*model, "twice", x, x);
  ValueId other = add_sum(*model, "other", add_relu(*model, "relu", x), twice);
  x = add_batch_norm2d(*model, "bn", add_sum(*model, "all", other, x));
  ValueId y = add_relu(*model, "relu2", add_sum(*model, "sum", x, other));  // BatchNorm's output is read here and below
  model->set_output(add_linear(*model, "fc", add_flatten(*model, "flatten", add_sum(*model, "last", y, x)), 5, true));
  return model;
}

// Returns a stack of recurrent layers that have several parts each, with dropout before the last
// layer. The output of the middle layer is read twice.
std::unique_ptr<Model> recurrent_layers() {
  auto model = std::make_unique<Model>("recurrent");
  ValueId x = add_lstm(*model, "lstm1", model->add_input("x", {7, 3}), 5, true);
  x = add_gru(*model, "gru1", x, 4, true);
  ValueId y = add_lstm(*model, "lstm2", x, 4, false);
  x = add_gru(*model, "gru2", add_dropout(*model, "drop", add_sum(*model, "sum", x, y), 0.25), 6, false);
  model->set_output(add_linear(*model, "fc", add_select_step(*model, "step", x, -2), 5, true));
  return model;
}

constexpr int64_t kBatch = 4;

// A model's training graph, with numbers for all values that no node computes. The numbers depend
// on names only, so that two graphs of a model get the same numbers.
struct Training {
  Graph graph;
  Values values;
  std::vector<std::string> trainable;

  Training(const Model& model, bool fuses, uint64_t stream, const StepForm& form = {}) {
    CompileRequest request(model.graph());
    request.form = form;
    request.local_batch = request.global_batch = kBatch;
    request.micro_batches = {{{0, kBatch}}};
    request.spec.fuse = fuses;
    for (size_t i = 0; i < model.parameters()->size(); ++i)
      if (!model.parameters()->entry(i).is_buffer) trainable.push_back(model.parameters()->entry(i).name);
    request.trainable = trainable;
    graph = build_graph(request, Log({}, all_topics(LogLevel::error)));
    values.resize(graph.values().size());
    for (ValueId id = 0; id < graph.values().size(); ++id) {
      const Value& value = graph.value(id);
      if (value.role == Role::activation || value.role == Role::gradient) continue;
      Random random(stream + std::hash<std::string>()(value.name));
      values[id] = Array(value.type.shape);
      for (double& v : values[id].data)
        v = value.name == "target"           ? static_cast<double>(random.integer(5))
            : value.type.dtype == DType::i64 ? 3
                                             : 0.3 * random.normal();
    }
  }

  ValueId find(Role role, const std::string& name) const {
    for (ValueId id = 0; id < graph.values().size(); ++id)
      if (graph.value(id).role == role && graph.value(id).name == name) return id;
    throw Error(Status::internal, "no value " + name);
  }
  // Runs only the forward pass.
  double loss(Values given) const {
    for (const Node& node : graph.nodes()) {
      evaluate_reference(graph, node, given);
      if (given[graph.outputs[0]].elements()) break;
    }
    return given[graph.outputs[0]][0] / kBatch;
  }
};

using MakeModel = std::unique_ptr<Model> (*)();

class Graphs : public ::testing::TestWithParam<MakeModel> {};

TEST_P(Graphs, AutodiffEqualsFiniteDifferences) {
  const auto model = GetParam()();
  const Training t(*model, false, 1);  // the next test covers fusion
  Values results = t.values;
  evaluate_reference(t.graph, results);
  Random random(2);
  constexpr double kStep = 1e-6, kTolerance = 1e-4;
  int kinks = 0, samples = 0;
  for (const std::string& name : t.trainable) {
    const Array& gradient = results[t.find(Role::gradient, name)];
    const ValueId parameter = t.find(Role::parameter, name);
    double scale = 1e-3;
    for (double v : gradient.data) scale = std::max(scale, std::abs(v));
    for (int sample = 0; sample < 3; ++sample, ++samples) {
      const int64_t at = random.integer(gradient.elements());
      auto moved = [&](double by) {
        Values v = t.values;
        v[parameter][at] += by;
        return t.loss(std::move(v));
      };
      const double middle = moved(0), ahead = moved(kStep), behind = moved(-kStep);
      if (std::abs(ahead - 2 * middle + behind) / kStep > kTolerance * scale) {  // a kink, as in gradients_test.cpp
        ++kinks;
        continue;
      }
      EXPECT_NEAR((ahead - behind) / (2 * kStep), gradient[at], kTolerance * scale) << name << " element " << at;
    }
  }
  EXPECT_LE(kinks * 4, samples);
}

// The form of a step in pieces that also computes the gradient of the samples.
constexpr StepForm kInputGradient{StepForm::passes, false, true};

ValueId input_gradient_of(const Graph& graph) {
  for (const Output& output : graph.outputs)
    if (output.report == Report::input_gradient) return output.id;
  throw Error(Status::internal, "no gradient of the samples");
}

TEST_P(Graphs, AutodiffOfSamplesEqualsFiniteDifferences) {
  const auto model = GetParam()();
  const Training t(*model, false, 5, kInputGradient);
  Values results = t.values;
  evaluate_reference(t.graph, results);
  const Array& gradient = results[input_gradient_of(t.graph)];
  const ValueId x = *t.graph.find("x");
  ASSERT_EQ(gradient.shape, t.values[x].shape);
  double scale = 1e-3;
  for (double v : gradient.data) scale = std::max(scale, std::abs(v));
  Random random(6);
  constexpr double kStep = 1e-6, kTolerance = 1e-4;
  int kinks = 0;
  for (int sample = 0; sample < 24; ++sample) {
    const int64_t at = random.integer(gradient.elements());
    auto moved = [&](double by) {
      Values v = t.values;
      v[x][at] += by;
      return t.loss(std::move(v));
    };
    const double middle = moved(0), ahead = moved(kStep), behind = moved(-kStep);
    if (std::abs(ahead - 2 * middle + behind) / kStep > kTolerance * scale)
      ++kinks;
    else
      EXPECT_NEAR((ahead - behind) / (2 * kStep), gradient[at], kTolerance * scale) << "element " << at;
  }
  EXPECT_LE(kinks, 6);
}

TEST_P(Graphs, FusionChangesNoLossAndNoGradient) {
  const auto model = GetParam()();
  const Training plain(*model, false, 3), fused(*model, true, 3);
  Values a = plain.values, b = fused.values;
  evaluate_reference(plain.graph, a);
  evaluate_reference(fused.graph, b);
  EXPECT_LT(fused.graph.nodes().size(), plain.graph.nodes().size());
  EXPECT_NEAR(a[plain.graph.outputs[0]][0], b[fused.graph.outputs[0]][0],
              1e-12 * std::abs(a[plain.graph.outputs[0]][0]));
  for (const std::string& name : plain.trainable) {
    const Array &x = a[plain.find(Role::gradient, name)], &y = b[fused.find(Role::gradient, name)];
    double scale = 1e-6;
    // The gradient of a bias before BatchNorm is 0. Without fusion it consists of rounding errors.
    if (std::all_of(y.data.begin(), y.data.end(), [](double v) { return v == 0; })) scale = 1e-3;
    for (double v : x.data) scale = std::max(scale, std::abs(v));
    for (int64_t i = 0; i < x.elements(); ++i) ASSERT_NEAR(x[i], y[i], 1e-10 * scale) << name << " element " << i;
  }
  for (const Value& value : plain.graph.values()) {
    if (value.role != Role::buffer) continue;
    const Array &x = a[plain.find(Role::buffer, value.name)], &y = b[fused.find(Role::buffer, value.name)];
    for (int64_t i = 0; i < x.elements(); ++i) ASSERT_NEAR(x[i], y[i], 1e-12) << value.name << " element " << i;
  }
}

// Compares the gradient of the samples with the reference, for numbers of values by their names.
void expect_input_gradient(Trainer& trainer, const Batch& batch, const Model& model, const Values& numbers) {
  const Training plain(model, false, 4), t(model, false, 4, kInputGradient);
  Values values = t.values;
  if (const auto counter = t.graph.find("dropout_counter"))
    values[*counter] = numbers[*plain.graph.find("dropout_counter")];
  evaluate_reference(t.graph, values);
  const Array& gradient = values[input_gradient_of(t.graph)];
  StepResult result;
  ASSERT_TRUE(trainer.forward(batch, {.has_input_gradient = true}, result, true, nullptr));
  trainer.backward({}, nullptr);
  const std::vector<float>& found = trainer.pieces().input_gradient();
  ASSERT_EQ(found.size(), gradient.data.size());
  double scale = 0;
  for (double v : gradient.data) scale = std::max(scale, std::abs(v));
  for (int64_t i = 0; i < gradient.elements(); ++i)
    ASSERT_NEAR(gradient[i], static_cast<double>(found[static_cast<size_t>(i)]), 2e-5 * scale + 2e-6) << i;
}

// Compares the whole plan on the device, including reorders and shared memory, with the reference.
// The plan is compiled with and without fusion.
TEST_P(Graphs, TrainersEqualTheReferenceFusedOrNot) {
  const auto names = GetParam()();
  const Training t(*names, false, 4);
  Values results = t.values;
  evaluate_reference(t.graph, results);
  for (bool fuses : {false, true})
    for (int threads : is_on_cpu() ? std::vector{1, 2} : std::vector{1}) {
      std::shared_ptr<Model> model = GetParam()();
      ParameterStore& store = *model->parameters();
      for (size_t i = 0; i < store.size(); ++i) {
        const Parameter& p = store.entry(i);
        const Array& array = t.values[t.find(p.is_buffer ? Role::buffer : Role::parameter, p.name)];
        const std::vector<float> floats(array.data.begin(), array.data.end());
        const std::vector<int64_t> integers(array.data.begin(), array.data.end());
        store.write(i, p.type.dtype == DType::i64 ? static_cast<const void*>(integers.data()) : floats.data(),
                    p.type.bytes());
      }
      ContextOptions context = test_context_options();
      context.cpu_threads = threads;
      TrainerOptions options;
      options.fuse = fuses;
      options.settings[Setting::learning_rate] = 0;
      options.seed = 3;  // the random counter below is of this seed and step 0
      Trainer trainer(std::make_shared<Context>(context), model, test_devices(1), options);
      Batch batch;
      const Array &x = t.values[*t.graph.find("x")], &target = t.values[*t.graph.find("target")];
      batch.shape = x.shape;
      batch.inputs.assign(x.data.begin(), x.data.end());
      batch.labels.assign(target.data.begin(), target.data.end());
      Values expected = t.values;
      if (const auto counter = t.graph.find("dropout_counter")) {
        expected[*counter][0] = 3;
        expected[*counter][1] = 0;
      }
      evaluate_reference(t.graph, expected);
      StepResult result;
      expect_input_gradient(trainer, batch, *names, expected);
      ASSERT_TRUE(trainer.step(batch, result));
      const double loss = expected[t.graph.outputs[0]][0] / kBatch;
      EXPECT_NEAR(result.loss, loss, 1e-5 * std::abs(loss));
      for (const std::string& name : t.trainable) {
        const Array& gradient = expected[t.find(Role::gradient, name)];
        std::vector<float> found(gradient.data.size());
        read_gradient(trainer, name, found.data(), found.size() * sizeof(float));
        double scale = 0, largest = 0;
        for (double v : gradient.data) scale = std::max(scale, std::abs(v));
        for (int64_t i = 0; i < gradient.elements(); ++i)
          largest = std::max(largest, std::abs(gradient[i] - static_cast<double>(found[static_cast<size_t>(i)])));
        // The gradient of a bias before BatchNorm is 0: it consists of rounding errors.
        EXPECT_LE(largest, 2e-5 * scale + 2e-6) << name << (fuses ? ", fused" : "") << ", " << threads << " threads";
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Graphs, ::testing::Values(&small_lenet, &residual_block, &shared_value, &recurrent_layers),
    [](const auto& info) {
      return std::string(std::array{"SmallLeNet", "ResidualBlock", "SharedValue", "RecurrentLayers"}[info.index]);
    });

}  // namespace
}  // namespace troika
