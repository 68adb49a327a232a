// Recomputed values have the same bits as the dropped values. Losses, parameters, statistics,
// momentum and gradients equal those of a run that keeps everything, on any number of devices and
// in any precision. Less memory is kept.
#include <random>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "plan/estimates.h"
#include "support/planned_memory.h"
#include "support/throws.h"

namespace troika {
namespace {

std::shared_ptr<Model> initialized(std::shared_ptr<Model> model) {
  initialize_default(*model, 1, false);
  return model;
}

std::shared_ptr<Model> zoo_model(const std::string& name, int64_t image_size) {
  ZooOptions options;
  options.classes = 5;
  options.input_height = options.input_width = image_size;
  return initialized(create_model(name, options));
}

// Returns a model of six hidden layers, each with dropout.
std::shared_ptr<Model> dropout_mlp() {
  auto model = std::make_shared<Model>("dropout_mlp");
  ValueId x = add_flatten(*model, "flatten", model->add_input("x", {1, 8, 7}));
  for (int i = 1; i <= 6; ++i) {
    x = add_relu(*model, text("relu", i), add_linear(*model, text("fc", i), x, 16 + i, true));
    x = add_dropout(*model, text("drop", i), x, 0.3);
  }
  model->set_output(add_linear(*model, "fc7", x, 5, true));
  return initialized(model);
}

// Returns a model whose convolutions are each followed by a pooling, which GPUs compute with them.
std::shared_ptr<Model> pooling_net() {
  auto model = std::make_shared<Model>("pooling_net");
  ValueId x = model->add_input("x", {1, 12, 8});
  x = add_relu(*model, "relu1", add_conv2d(*model, "conv1", x, {6, square(3, 1, 1)}));
  x = add_max_pool2d(*model, "pool1", x, square(2, 2));
  x = add_avg_pool2d(*model, "pool2", add_conv2d(*model, "conv2", x, {10, square(3, 1, 1)}), square(2, 2));
  model->set_output(add_linear(*model, "fc1", add_flatten(*model, "flatten", x), 5, true));
  return initialized(model);
}

std::vector<Batch> batches_for(const Model& model, const std::vector<int64_t>& sizes) {
  std::mt19937_64 engine(21);
  std::normal_distribution<float> normal;
  std::vector<Batch> batches;
  for (int64_t samples : sizes) {
    std::vector<int64_t> dims = model.input_shape().dims();
    dims.insert(dims.begin(), samples);
    Batch batch;
    batch.shape = Shape(dims);
    batch.inputs.resize(static_cast<size_t>(batch.shape.elements()));
    for (float& v : batch.inputs) v = normal(engine);
    for (int64_t i = 0; i < samples; ++i) batch.labels.push_back(static_cast<int32_t>(engine() % 5));
    batches.push_back(std::move(batch));
  }
  return batches;
}

// Runs two steps of a few samples with each way of recomputation, and with everything kept.
void expect_same_bits(const std::function<std::shared_ptr<Model>()>& make, TrainerOptions options, int devices,
                      const std::vector<RecomputeSettings>& ways) {
  const auto model = make();
  const auto batches = batches_for(*model, {7, 7});
  const Trained kept = train(model, test_devices(devices), options, batches);
  for (const RecomputeSettings& way : ways) {
    options.recompute = way;
    EXPECT_TRUE(train(make(), test_devices(devices), options, batches) == kept)
        << model->name() << " in " << name_of(options.compute) << " on " << devices << ": " << way.segments
        << " segments, layers '" << join(way.layers, ",") << "'";
  }
}

TEST(Recompute, ChangesNoBitOfSmallNets) {
  for (DType compute : {DType::f32, DType::bf16})
    for (bool fuse : {true, false}) {
      TrainerOptions options = momentum_options();
      options.compute = compute;
      options.fuse = fuse;
      for (int devices : {1, 2})
        for (const auto& make : {dropout_mlp, dropout_net, conv_net, batch_norm_net})
          expect_same_bits(make, options, devices, {{2, {}, 0}, {5, {}, 0}, {0, {"*"}, 0}, {3, {"*1"}, 0}});
    }
}

TEST(Recompute, ChangesNoBitOfConvolutionsThatPool) {
  for (const bool allows_tf32 : {false, true}) {
    TrainerOptions options = momentum_options();
    options.compute = allows_tf32 ? DType::f32 : DType::bf16;
    options.allow_tf32 = allows_tf32;
    for (int devices : {1, 2})
      expect_same_bits(
          pooling_net, options, devices,
          {{2, {}, 0}, {5, {}, 0}, {0, {"*"}, 0}, {0, {"pool1"}, 0}, {0, {"conv2", "pool2"}, 0}, {0, {}, 1 << 20}});
  }
}

TEST(Recompute, ChangesNoBitOfResNets) {
  struct Net {
    const char* name;
    int64_t image_size;
    DType compute;
    int devices;
    int64_t segments;
  };
  for (const Net& net : {Net{"d2l_resnet18", 16, DType::f32, 1, 3}, Net{"d2l_resnet18", 16, DType::bf16, 2, 2},
                         Net{"resnet50", 32, DType::f32, 2, 4}}) {
    TrainerOptions options = momentum_options();
    options.compute = net.compute;
    expect_same_bits([&] { return zoo_model(net.name, net.image_size); }, options, net.devices,
                     {{net.segments, {}, 0}});
  }
}

TEST(Recompute, ShrinksWhatIsKeptAndTheArena) {
  // Counts only values: on some CPUs, the kernels' scratch is as large as the values.
  const auto value_bytes = [](const TrainerOptions& options) {
    Trainer trainer(test_context(), zoo_model("d2l_resnet18", 28), test_devices(1), options);
    trainer.explain(64);
    const PlannedMemory memory(trainer.ranks().at(0).current_plan());
    EXPECT_LT(trainer.ranks().at(0).arena_bytes(), memory.all_bytes() * 5 / 4) << "an arena has few gaps";
    return memory.value_bytes();
  };
  TrainerOptions options = momentum_options();
  const size_t whole = value_bytes(options);
  options.recompute.segments = 3;
  EXPECT_LT(value_bytes(options), whole * 6 / 10);
  options.recompute = {0, {"*.bn1"}, 0};
  const size_t without_layers = value_bytes(options);
  EXPECT_LT(without_layers, whole * 9 / 10);
  EXPECT_GT(without_layers, whole * 6 / 10) << "dropping only these layers saves less than dropping whole segments";
}

TEST(Recompute, FitsABudgetOnEachDeviceOrLeavesTheTrainerAsItWas) {
  const auto net = [] { return zoo_model("d2l_resnet18", 28); };
  const auto batches = batches_for(*net(), {16, 128});
  TrainerOptions options = momentum_options();
  options.recompute.budget_bytes = INT64_MAX;
  const Trained kept = train(net(), test_devices(2), momentum_options(), {batches[0]});
  EXPECT_TRUE(train(net(), test_devices(2), options, {batches[0]}) == kept) << "nothing to compute again";

  options.recompute.budget_bytes = 20 << 20;  // 8 samples take 27 MiB
  const auto model = net();
  Trainer trainer(test_context(), model, test_devices(2), options);
  StepResult result;
  ASSERT_TRUE(trainer.step(batches[0], result));
  for (size_t r = 0; r < trainer.ranks().size(); ++r) {
    const PlannedMemory memory(trainer.ranks().at(r).current_plan());
    EXPECT_LE(memory.value_bytes(), size_t{20} << 20);
    EXPECT_LT(trainer.ranks().at(r).arena_bytes(), memory.all_bytes() * 5 / 4) << "an arena has few gaps";
  }
  const Trained before = look_at(trainer);
  EXPECT_EQ(before.parameters, kept.parameters);
  EXPECT_EQ(before.buffers, kept.buffers);
  EXPECT_THROWS(Status::out_of_memory, "activation_budget_bytes is 20971520", trainer.step(batches[1], result));
  EXPECT_TRUE(look_at(trainer) == before);
  ASSERT_TRUE(trainer.step(batches[0], result));
  EXPECT_EQ(result.step, 2);
}

// Returns a model of ten convolutions whose outputs are much larger than their weights.
std::shared_ptr<Model> deep_net() {
  auto model = std::make_shared<Model>("deep_net");
  const Window window{{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  ValueId x = model->add_input("x", {1, 8, 7});
  for (int i = 1; i <= 10; ++i)
    x = add_relu(*model, text("relu", i), add_conv2d(*model, text("conv", i), x, {17, window, 1, true}));
  x = add_flatten(*model, "flatten", add_adaptive_avg_pool2d(*model, "pool", x, 1, 1));
  model->set_output(add_linear(*model, "fc", x, 5, true));
  return initialized(model);
}

// Returns a model of linear layers with 32 features. No kernel pads them, so that a device keeps
// exactly the bytes of the shapes.
std::shared_ptr<Model> deep_mlp() {
  auto model = std::make_shared<Model>("deep_mlp");
  ValueId x = add_flatten(*model, "flatten", model->add_input("x", {1, 8, 7}));
  for (int i = 1; i <= 24; ++i) x = add_relu(*model, text("relu", i), add_linear(*model, text("fc", i), x, 32, true));
  model->set_output(add_linear(*model, "fc", x, 5, true));
  return initialized(model);
}

// The result of one step per batch, and the peak bytes of values on any device.
struct SplitRun {
  Trained trained;
  size_t value_bytes = 0;
};

SplitRun run_split(const std::shared_ptr<Model>& model, const TrainerOptions& options,
                   const std::vector<Batch>& batches) {
  const Mesh& mesh = options.mesh;
  Trainer trainer(test_context(), model, test_devices(mesh.data * mesh.layer * mesh.channel), options);
  SplitRun run;
  for (const Batch& batch : batches) {
    StepResult result;
    trainer.step(batch, result);
    for (size_t r = 0; r < trainer.ranks().size(); ++r)
      run.value_bytes = std::max(run.value_bytes, PlannedMemory(trainer.ranks().at(r).current_plan()).value_bytes());
  }
  run.trained = look_at(trainer);
  return run;
}

// The budget is per device: for its own layers, its own channels, and the micro-batches that it
// keeps. Devices with 5 channels and devices with 6 must choose the same layers; otherwise their
// collectives would not match.
TEST(Recompute, FitsABudgetWithinASplitAndChangesNoBit) {
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 3}, Mesh{2, 1, 2}, Mesh{1, 2, 2}})
    for (const auto& net : {deep_net, deep_mlp}) {
      const int64_t samples = net == deep_mlp ? 1024 : 64;  // so many that values are much larger than weights
      const auto batches = make_batches({samples, samples * 3 / 4 + 1}, 71);
      TrainerOptions options = momentum_options();
      options.mesh = mesh;
      options.micro_batches = mesh.layer > 1 ? 4 : 1;
      options.deadline_ms = 60000;
      const SplitRun kept = run_split(net(), options, batches);
      const MeshEstimate by_shape =
          estimate(*net(), step_of(samples, options.micro_batches, options.settings[Setting::momentum]), mesh);
      const size_t budget = by_shape.fullest().activation_bytes * 13 / 20;
      options.recompute.budget_bytes = static_cast<int64_t>(budget);
      const SplitRun again = run_split(net(), options, batches);
      EXPECT_TRUE(kept.trained == again.trained) << net()->name() << " on " << name_of(mesh);
      // Layouts of images may pad 17 channels to 32. A budget does not count padding.
      EXPECT_LT(again.value_bytes, kept.value_bytes * 17 / 20) << net()->name() << " on " << name_of(mesh);
      if (net == deep_mlp) {
        EXPECT_LE(again.value_bytes, budget) << name_of(mesh);
      }
    }
}

TEST(Recompute, RepeatsTheSameSumsOnDevicesWithUnevenChannels) {
  const auto batches = make_batches({16, 7}, 72);
  for (int channel : {2, 3, 4}) {
    TrainerOptions options = momentum_options();
    options.mesh.channel = channel;
    options.deadline_ms = 20000;
    TrainerOptions in_segments = options, of_layers = options;
    in_segments.recompute.segments = 3;
    of_layers.recompute.layers = {"*"};
    for (const auto& net : {conv_net, batch_norm_net, deep_net}) {
      const Trained kept = train(net(), test_devices(channel), options, batches);
      EXPECT_TRUE(kept == train(net(), test_devices(channel), in_segments, batches)) << channel << " devices";
      EXPECT_TRUE(kept == train(net(), test_devices(channel), of_layers, batches)) << channel << " devices";
    }
  }
}

}  // namespace
}  // namespace troika
