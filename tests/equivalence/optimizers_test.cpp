// Every optimizer computes the same on every mesh as on one device: with splits, sharded state,
// logical shards, micro-batches, clipping, loss scaling, recompute and averages. LARS and LAMB use
// the norms of whole parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/layers.h"
#include "state/safetensors.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "train/checkpoint.h"
#include "train/weights_file.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-5, kTolerance16 = 1e-2;

// Returns a model with layers split by column and by row, uneven channels, and parameters with one
// axis and with several.
std::shared_ptr<Model> net() {
  auto model = std::make_shared<Model>("net");
  ValueId x =
      add_relu(*model, "relu1", add_conv2d(*model, "conv1", model->add_input("x", {1, 8, 7}), {9, square(3), 1, true}));
  x = add_relu(*model, "relu2", add_conv2d(*model, "conv2", x, {11, square(3), 1, true}));
  x = add_relu(*model, "relu3", add_linear(*model, "fc1", add_flatten(*model, "flatten", x), 13, true));
  return finished(model, add_linear(*model, "fc2", x, 8, true));
}

TrainerOptions options_of(const OptimizerDef& optimizer) {
  TrainerOptions options;
  options.optimizer = &optimizer;
  // The steps of Adam-like optimizers are about as large as the rate, whatever the gradient.
  options.settings[Setting::learning_rate] = optimizer.slots.size() > 1 ? 0.01 : 0.1;
  options.settings[Setting::weight_decay] = 0.01;
  if (optimizer.reads(Setting::momentum)) options.settings[Setting::momentum] = 0.9;
  if (optimizer.reads(Setting::trust)) options.settings[Setting::trust] = 0.05;
  // With a small eps, a gradient that consists only of rounding errors would become a full step.
  if (optimizer.reads(Setting::eps)) options.settings[Setting::eps] = 1e-2;
  options.deadline_ms = 60000;
  return options;
}

class Optimizers : public ::testing::TestWithParam<size_t> {
 protected:
  const OptimizerDef& optimizer = *all_optimizers()[GetParam()];
  const TrainerOptions one = options_of(optimizer);
  const std::vector<Batch> batches = make_batches({16, 13, 5, 16});

  TrainerOptions on(const Mesh& mesh) const {
    TrainerOptions options = one;
    options.mesh = mesh;
    return options;
  }
  Trained run(const TrainerOptions& options) const {
    return train(net(), test_devices(devices_of(options.mesh)), options, batches);
  }
};

TEST_P(Optimizers, EqualOneDeviceOnEveryMesh) {
  const Trained oracle = run(on({1, 1, 1}));
  std::vector<Mesh> meshes = all_meshes();
  for (const Mesh& uneven : {Mesh{3, 1, 1}, {1, 3, 1}, {1, 1, 3}}) meshes.push_back(uneven);
  for (const Mesh& mesh : meshes) {
    TrainerOptions options = on(mesh);
    for (bool shards : {false, true}) {
      options.shards_optimizer = shards;
      expect_near(oracle, run(options), kTolerance, text(name_of(mesh), ", sharded ", shards));
    }
    options.micro_batches = 2;
    expect_near(oracle, run(options), kTolerance, text(name_of(mesh), ", micro-batches"));
  }
}

TEST_P(Optimizers, EqualOneDeviceWhenGradientsAreClippedAndScaled) {
  TrainerOptions clipped = on({1, 1, 1});
  clipped.conditioning.max_norm = 0.3;
  const Trained oracle = run(clipped);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, {2, 1, 2}, {2, 2, 1}}) {
    TrainerOptions options = on(mesh);
    options.conditioning = clipped.conditioning;
    options.conditioning.is_scaled = true;
    options.loss_scale = 1024;
    Trained found = run(options);
    for (auto& [name, gradient] : found.gradients) EXPECT_EQ(gradient.size(), oracle.gradients.at(name).size());
    expect_near(oracle, found, kTolerance, name_of(mesh));
  }
}

// The mesh divides the model by layer or by channel.
TEST_P(Optimizers, EqualOneDeviceWhenTheModelIsDividedAndActivationsAreComputedAgain) {
  for (DType compute : {DType::f32, DType::f16}) {
    TrainerOptions options = on({1, 1, 1});
    options.compute = compute;
    options.conditioning.is_scaled = true;
    options.loss_scale = 256;
    const Trained oracle = run(options);
    for (const Mesh& mesh : {Mesh{1, 2, 1}, {1, 1, 2}}) {
      options.mesh = mesh;
      options.recompute = {};
      const Trained kept = run(options);
      const std::string what = text(name_of(mesh), " in ", name_of(compute));
      if (compute == DType::f32)
        expect_near(oracle, kept, kTolerance, what);
      else  // gradients of single steps differ more, if a ReLU falls on the other side
        expect_near(oracle.parameters, kept.parameters, kTolerance16, what);
      options.recompute.layers = {"conv1", "conv2"};
      EXPECT_TRUE(run(options) == kept) << what;
    }
  }
}

TEST_P(Optimizers, HaveTheSameBitsWithLogicalShardsRecomputeAndShardedState) {
  TrainerOptions shards = on({1, 1, 1});
  shards.logical_shards = 4;
  shards.average_decay = 0.9;
  const Trained oracle = run(shards);
  for (int n : {2, 4})
    for (bool sharded : {false, true}) {
      shards.mesh = {n, 1, 1};
      shards.shards_optimizer = sharded;
      shards.recompute.layers = {"conv2"};
      EXPECT_TRUE(run(shards) == oracle) << n << " devices, sharded " << sharded;
    }
}

// Returns a net whose first layer has gradients that overflow on one of two ranks alone, if pixels
// are huge. Its weights are 0, so that no output is huge. The channels of the first rank are dead.
// The layer must have learning rate 0.
std::shared_ptr<Model> net_with_a_dead_half() {
  const auto model = net();
  const auto set = [&](const char* name, const std::vector<float>& values) {
    model->parameters()->write(model->parameters()->index_of(name), values.data(), values.size() * sizeof(float));
  };
  set("conv1.weight", std::vector<float>(9 * 9));
  set("conv1.bias", {-1, -1, -1, -1, -1, 1, 0.5f, 0.75f, 0.25f});
  return model;
}

// A step with a gradient that is not finite changes no parameter on any device and is not counted
// in the bias corrections: also if the gradients of all other parts of the model are finite.
TEST_P(Optimizers, SkipAStepThatIsNotFinite) {
  Batch infinite = batches[0], huge = batches[0];
  infinite.inputs[5] = std::numeric_limits<float>::infinity();
  std::fill(huge.inputs.begin(), huge.inputs.end(), 3e38f);
  for (const Mesh& mesh : {Mesh{2, 1, 1}, {1, 2, 1}, {1, 1, 2}}) {
    TrainerOptions options = on(mesh);
    options.conditioning.is_scaled = true;
    options.loss_scale = 1 << 20;
    options.average_decay = 0.9;
    options.groups = {{"conv1.*", false, {{Setting::learning_rate, 0}}}};
    Trainer trainer(test_context(), net_with_a_dead_half(), test_devices(2), options),
        undisturbed(test_context(), net_with_a_dead_half(), test_devices(2), options);
    StepResult result;
    for (const Batch& batch : batches) {
      trainer.step(batch, result);
      EXPECT_FALSE(result.is_skipped) << name_of(mesh);
      const Trained before = look_at(trainer);
      for (const Batch* bad : {&infinite, &huge}) {
        trainer.step(*bad, result);
        EXPECT_TRUE(result.is_skipped) << name_of(mesh);
        const Trained after = look_at(trainer);
        EXPECT_EQ(before.parameters, after.parameters) << name_of(mesh);
        EXPECT_EQ(before.slots, after.slots) << name_of(mesh);
        if (bad == &infinite) continue;
        const auto are_finite = [&](const std::string& name, size_t begin, size_t end) {
          const std::vector<float>& values = after.gradients.at(name);
          return std::all_of(values.begin() + static_cast<ptrdiff_t>(begin),
                             values.begin() + static_cast<ptrdiff_t>(end), [](float g) { return std::isfinite(g); });
        };
        EXPECT_TRUE(are_finite("conv1.weight", 0, 5 * 9)) << name_of(mesh);
        EXPECT_FALSE(are_finite("conv1.weight", 5 * 9, 9 * 9)) << name_of(mesh);
        for (const auto& [name, values] : after.gradients)
          EXPECT_TRUE(name == "conv1.weight" || are_finite(name, 0, values.size())) << name << ", " << name_of(mesh);
      }
      undisturbed.step(batch, result);
    }
    EXPECT_EQ(trainer.training_state().updates, (std::vector<int64_t>{4, 4})) << name_of(mesh);
    // The loss scale is halved, which causes no rounding.
    EXPECT_EQ(look_at(trainer).parameters, look_at(undisturbed).parameters) << name_of(mesh);
  }
}

TEST_P(Optimizers, GoOnFromATrainingStateOnAnotherMesh) {
  const TempDirectory folder;
  TrainerOptions options = on({2, 1, 2});
  options.average_decay = 0.9;
  options.shards_optimizer = true;
  options.groups = {{"fc1.*", false, {{Setting::learning_rate, 0.02}}}};
  const std::string path = (folder.path() / "state").string();
  StepResult result;
  Trainer whole(test_context(), net(), test_devices(4), options);
  for (size_t i : {0, 1}) whole.step(batches[i], result);
  whole.set(0, Setting::weight_decay, 0.03);
  save_checkpoint(whole, path);
  const HostSlots saved = whole.read_slots();
  for (const Mesh& mesh : {Mesh{2, 1, 2}, {1, 1, 1}, {1, 2, 1}, {3, 1, 1}}) {
    options.mesh = mesh;
    Trainer resumed(test_context(), net(), test_devices(devices_of(options.mesh)), options);
    load_checkpoint(resumed, path);
    EXPECT_TRUE(resumed.read_slots() == saved);  // before any slot is copied to a device
    EXPECT_EQ(resumed.get(0, Setting::weight_decay), 0.03);
    for (size_t i : {2, 3}) resumed.step(batches[i], result);
    if (mesh.data == 2) {  // the saved mesh: continue the original run, only once
      for (size_t i : {2, 3}) whole.step(batches[i], result);
      EXPECT_TRUE(look_at(resumed) == look_at(whole));
    }
    expect_near(look_at(whole), look_at(resumed), kTolerance, name_of(mesh));
  }
  Trainer another(test_context(), net(), test_devices(1),
                  options_of(&optimizer == &adam_optimizer ? adamw_optimizer : adam_optimizer));
  EXPECT_THROWS(Status::mismatch, text("optimizer is '", optimizer.name, "', the trainer has '"),
                load_checkpoint(another, path));
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, ::testing::Range(size_t{0}, all_optimizers().size()),
                         [](const auto& info) { return std::string(all_optimizers()[info.param]->name); });

// A training state of an earlier version, whose only optimizer was SGD. Momentum had its own name
// in the file, and updates were not counted.
TEST(TrainingStates, OfEarlierVersionsStillLoad) {
  const TempDirectory folder;
  const std::string now = (folder.path() / "now").string(), then = (folder.path() / "then").string();
  const auto batches = make_batches(4, 7);
  Trainer whole(test_context(), net(), test_devices(2), options_of(sgd_optimizer)),
      resumed(test_context(), net(), test_devices(2), options_of(sgd_optimizer));
  StepResult result;
  for (size_t i : {0, 1}) whole.step(batches[i], result);
  save_checkpoint(whole, now);

  const SafetensorsReader reader(now);
  SafetensorsWriter writer;
  std::vector<std::vector<char>> data;
  for (const TensorEntry& entry : reader.entries()) {
    data.emplace_back(entry.bytes());
    reader.read(entry, data.back().data(), data.back().size());
  }
  size_t renamed = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    const TensorEntry& entry = reader.entries()[i];
    const std::string prefix = "optimizer/";
    const bool is_slot = entry.name.starts_with(prefix);
    renamed += is_slot;
    writer.add(is_slot ? entry.name.substr(prefix.size()) : entry.name, entry.dtype, entry.shape, data[i].data());
  }
  for (const auto& [key, value] : reader.metadata())
    if (key != "updates" && key != "settings") writer.set_metadata(key, value);
  writer.sum_data();
  writer.write(then);
  EXPECT_EQ(renamed, 8u);

  load_checkpoint(resumed, then);
  for (size_t i : {2, 3})
    for (Trainer* trainer : {&whole, &resumed}) trainer->step(batches[i], result);
  EXPECT_TRUE(look_at(resumed) == look_at(whole));
}

// ---- groups ----

TEST(Groups, HaveSettingsOfTheirOwnThatChangeWhileTraining) {
  const auto batches = make_batches(4, 7);
  TrainerOptions options = options_of(sgd_optimizer);
  options.groups = {{"fc1.*", false, {{Setting::momentum, 0.5}, {Setting::weight_decay, 0.0}}}, {"conv*"}};
  Trainer trainer(test_context(), net(), test_devices(2), options);
  EXPECT_EQ(trainer.get(0, Setting::momentum), 0.5);
  EXPECT_EQ(trainer.get(1, Setting::momentum), 0.9);
  StepResult result;
  trainer.step(batches[0], result);
  for (size_t i = 1; i < batches.size(); ++i) {
    if (i == 2) {
      trainer.set(1, Setting::learning_rate, 0.03);
      trainer.set(0, Setting::momentum, 0.7);
      trainer.set(-1, Setting::nesterov, 1);  // of all groups
    }
    const Trained before = look_at(trainer);
    trainer.step(batches[i], result);
    const Trained after = look_at(trainer);
    for (const auto& [name, p] : before.parameters) {
      const bool is_fc1 = name.starts_with("fc1"), is_late = i >= 2;
      const double momentum = is_fc1 ? (is_late ? 0.7 : 0.5) : 0.9, decay = is_fc1 ? 0 : 0.01,
                   rate = name.starts_with("conv") && is_late ? 0.03 : 0.1;
      std::vector<float> expected(p.size());
      for (size_t k = 0; k < p.size(); ++k) {
        const double d = static_cast<double>(after.gradients.at(name)[k]) + decay * static_cast<double>(p[k]),
                     m = momentum * static_cast<double>(before.slots.at("momentum/" + name)[k]) + d;
        expected[k] = static_cast<float>(static_cast<double>(p[k]) - rate * (is_late ? d + momentum * m : m));
      }
      EXPECT_LE(difference(expected, after.parameters.at(name)), 1e-6) << name << ", step " << i;
    }
  }
}

TEST(Groups, RefuseWhatTheyCannotBe) {
  TrainerOptions options = options_of(adam_optimizer);
  options.groups = {{"fc1.*"}};
  Trainer trainer(test_context(), net(), test_devices(1), options);
  EXPECT_THROWS(Status::invalid_argument, "group 0 ('fc1.*'): optimizer adam has no momentum",
                (trainer.set(0, Setting::momentum, 0.5), 0));
  EXPECT_THROWS(Status::invalid_argument, "trainer: beta1 is 1, needs at least 0 and below 1",
                (trainer.set(-1, Setting::beta1, 1), 0));
  EXPECT_THROWS(Status::invalid_argument, "trainer: eps is 0, needs above 0", (trainer.set(-1, Setting::eps, 0), 0));
  EXPECT_THROWS(Status::invalid_argument, "trainer: group is 1, need -1 to 0", (trainer.get(1, Setting::eps), 0));
  options = options_of(sgd_optimizer);
  options.settings[Setting::momentum] = 0;
  Trainer plain(test_context(), net(), test_devices(1), options);
  EXPECT_THROWS(Status::invalid_argument,
                "trainer: momentum is 0.9, needs 0: the trainer was attached without momentum",
                (plain.set(-1, Setting::momentum, 0.9), 0));
}

// A group that is thawed begins with empty slots and a count of 0. All other parameters continue
// unaffected.
TEST(Groups, ThawAndFreezeAndTheOthersKeepTheirSlots) {
  const auto batches = make_batches(6, 12);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 1, 2}})
    for (bool shards : {false, true}) {
      TrainerOptions options = options_of(adam_optimizer);
      options.groups = {{"conv*", true}};
      options.mesh = mesh;
      options.shards_optimizer = shards;
      options.average_decay = 0.5;
      Trainer trainer(test_context(), net(), test_devices(devices_of(mesh)), options);
      StepResult result;
      for (size_t i : {0, 1}) trainer.step(batches[i], result);
      const Trained before = look_at(trainer);
      EXPECT_EQ(before.slots.count("mean/conv1.weight"), 0u);
      trainer.set_frozen(0, false);
      EXPECT_FALSE(trainer.is_frozen(0));
      EXPECT_EQ(trainer.training_state().updates, (std::vector<int64_t>{2, 0}));
      for (const auto& [name, values] : before.slots) EXPECT_EQ(trainer.read_slots().at(name), values) << name;
      trainer.step(batches[2], result);
      EXPECT_EQ(result.step, 3);
      const Trained after = look_at(trainer);
      for (const auto& [name, p] : before.parameters) {
        const bool thawed = name.starts_with("conv");
        const double t = thawed ? 1 : 3;
        std::vector<float> expected(p.size()), average(p.size());
        for (size_t k = 0; k < p.size(); ++k) {
          auto slot = [&, name = name](const char* which) {
            return thawed ? 0.0 : static_cast<double>(before.slots.at(which + ("/" + name))[k]);
          };
          const double d = static_cast<double>(after.gradients.at(name)[k]) + 0.01 * static_cast<double>(p[k]),
                       m = 0.9 * slot("mean") + 0.1 * d, v = 0.999 * slot("square") + 0.001 * d * d;
          const double w = static_cast<double>(p[k]) -
                           0.01 / (1 - std::pow(0.9, t)) * m / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-2);
          expected[k] = static_cast<float>(w);
          average[k] = static_cast<float>(0.5 * (thawed ? static_cast<double>(p[k]) : slot("average")) + 0.5 * w);
        }
        EXPECT_LE(difference(expected, after.parameters.at(name)), 1e-5) << name;
        EXPECT_LE(difference(average, after.slots.at("average/" + name)), 1e-5) << name;
      }
      trainer.set_frozen(0, true);
      trainer.step(batches[3], result);
      const Trained frozen = look_at(trainer);
      EXPECT_EQ(frozen.parameters.at("conv1.weight"), after.parameters.at("conv1.weight"));
      EXPECT_NE(frozen.parameters.at("fc1.weight"), after.parameters.at("fc1.weight"));
    }
}

TEST(Groups, StayAsTheyAreWhenNothingIsLeftToTrain) {
  TrainerOptions options = options_of(sgd_optimizer);
  options.groups = {{"*"}};
  Trainer trainer(test_context(), net(), test_devices(2), options);
  const auto batches = make_batches(2, 7);
  StepResult result;
  trainer.step(batches[0], result);
  EXPECT_THROWS(Status::invalid_argument, "every parameter is frozen", (trainer.set_frozen(0, true), 0));
  EXPECT_FALSE(trainer.is_frozen(0));
  Trainer same(test_context(), net(), test_devices(2), options);
  same.step(batches[0], result);
  for (Trainer* each : {&trainer, &same}) each->step(batches[1], result);
  EXPECT_TRUE(look_at(trainer) == look_at(same));
}

TEST(WeightDecay, SkipsParametersWithOneAxisIfToldSo) {
  const auto batches = make_batches(1, 7);
  TrainerOptions options = options_of(adamw_optimizer);
  options.settings[Setting::weight_decay] = 0.5;
  options.decays_one_axis = false;
  TrainerOptions none = options;
  none.settings[Setting::weight_decay] = 0;
  const Trained skipped = train(net(), test_devices(2), options, batches),
                without = train(net(), test_devices(2), none, batches);
  EXPECT_EQ(skipped.parameters.at("fc1.bias"), without.parameters.at("fc1.bias"));
  EXPECT_NE(skipped.parameters.at("fc1.weight"), without.parameters.at("fc1.weight"));
}

// ---- averages ----

TEST(Averages, AreEvaluatedPredictedAndSaved) {
  const TempDirectory folder;
  const auto batches = make_batches(3, 12);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, {2, 1, 1}, {2, 1, 2}}) {
    const int n = devices_of(mesh);
    TrainerOptions options = options_of(adam_optimizer);
    options.mesh = mesh;
    options.average_decay = 0.75;
    options.shards_optimizer = true;
    const auto model = net();
    Trainer trainer(test_context(), model, test_devices(n), options);
    Named average = parameters_of(*model, false);
    StepResult result;
    for (const Batch& batch : batches) {
      trainer.step(batch, result);
      for (auto& [name, values] : average)
        for (size_t i = 0; i < values.size(); ++i)
          values[i] += 0.25f * (parameters_of(*model, false).at(name)[i] - values[i]);
    }
    for (const auto& [name, values] : average)
      EXPECT_LE(difference(values, trainer.read_slots().at("average/" + name)), 1e-6) << name;

    const std::string path = (folder.path() / "average").string();
    save_average(trainer, path);
    const auto averaged = net();
    LoadReport report;
    load_weights(*averaged, SafetensorsReader(path), {}, report);
    EXPECT_EQ(report.loaded, 8);
    std::vector<float> expected, found, plain;
    Trainer of_average(test_context(), averaged, test_devices(1), options_of(sgd_optimizer));
    predict(of_average, batches[0], expected);
    const Trained before = look_at(trainer);
    predict(trainer, batches[0], found);
    EXPECT_LE(difference(expected, found), 1e-5);
    EXPECT_TRUE(look_at(trainer) == before);  // the parameters are restored
    options.evaluates_average = false;
    Trainer of_parameters(test_context(), model, test_devices(n), options);
    predict(of_parameters, batches[0], plain);
    EXPECT_GT(difference(expected, plain), 1e-4);
  }
  Trainer without(test_context(), net(), test_devices(1), options_of(sgd_optimizer));
  EXPECT_THROWS(Status::invalid_argument, "has no averages; attach it with average_decay above 0",
                (save_average(without, (folder.path() / "none").string()), 0));
}

}  // namespace
}  // namespace troika
