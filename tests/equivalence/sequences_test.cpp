// LSTM and GRU compute the same as PyTorch, compute the same on any mesh as on one device, and
// train on long sequences within a memory budget.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/text.h"
#include "equivalence/golden.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "support/planned_memory.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices

using AddRecurrent = ValueId (*)(Model&, const std::string&, ValueId, int64_t, bool);
struct Kind {
  const char* name;
  AddRecurrent add;
};
constexpr Kind kKinds[] = {{"lstm", &add_lstm}, {"gru", &add_gru}};

// Returns a model of three layers over 11 steps of 3 numbers, which are cut into 3 parts, with
// dropout between two of the layers, and 5 classes.
std::shared_ptr<Model> sequence_net(const Kind& kind) {
  auto model = std::make_shared<Model>(text(kind.name, "_net"));
  ValueId x = kind.add(*model, "rnn1", model->add_input("x", {11, 3}), 7, true);
  x = kind.add(*model, "rnn2", x, 5, false);
  x = kind.add(*model, "rnn3", add_dropout(*model, "drop", x, 0.2), 6, true);
  model->set_output(add_linear(*model, "fc", add_select_step(*model, "last", x, -1), 5, true));
  initialize_default(*model, 1, false);
  return model;
}

std::vector<Batch> sequences(const std::vector<int64_t>& sizes, int64_t steps = 11, int64_t features = 3) {
  std::mt19937_64 engine(9);
  std::normal_distribution<float> normal;
  std::vector<Batch> batches;
  for (int64_t samples : sizes) {
    Batch batch;
    batch.shape = {samples, steps, features};
    batch.inputs.resize(static_cast<size_t>(batch.shape.elements()));
    for (float& v : batch.inputs) v = normal(engine);
    for (int64_t i = 0; i < samples; ++i) batch.labels.push_back(static_cast<int32_t>(engine() % 5));
    batches.push_back(std::move(batch));
  }
  return batches;
}

// ---- PyTorch ----

// Returns the model of tests/golden/layers/recurrent.py.
std::shared_ptr<Model> golden_net(const Kind& kind) {
  auto model = std::make_shared<Model>("golden");
  ValueId x = kind.add(*model, "rnn1", model->add_input("x", {7, 2}), 3, true);
  x = add_select_step(*model, "step", kind.add(*model, "rnn2", x, 4, true), -2);
  model->set_output(add_linear(*model, "fc", x, 3, true));
  golden::set_parameters(*model);
  return model;
}

Named named(const nlohmann::json& numbers) { return numbers.get<Named>(); }

TEST(Sequences, FollowPyTorchForThreeSteps) {
  const auto file = golden::read_file("recurrent.json");
  std::vector<Batch> batches;
  for (uint32_t step = 0; step < 3; ++step) {
    Batch& batch = batches.emplace_back();
    batch.shape = {5, 7, 2};
    batch.inputs = golden::units(1000 + step, 70, 2);
    batch.labels = golden::integers(2000 + step, 5, 3);
  }
  for (const Kind& kind : kKinds)
    for (bool fuse : {true, false}) {
      TrainerOptions options;
      options.settings[Setting::learning_rate] = 0.5;
      options.settings[Setting::momentum] = 0.9;
      options.fuse = fuse;
      const auto& expected = file.at(kind.name);
      const Trained first = train(golden_net(kind), test_devices(1), options, {batches[0]});
      expect_near(named(expected.at("gradients")), first.gradients, 1e-5, "gradient");
      const Trained found = train(golden_net(kind), test_devices(1), options, batches);
      for (size_t i = 0; i < batches.size(); ++i)
        EXPECT_NEAR(expected.at("losses").at(i).get<double>(), found.losses[i], 1e-5) << kind.name << ", step " << i;
      expect_near(named(expected.at("parameters")), found.parameters, 1e-5, "parameter");
    }
}

// ---- splits ----

TEST(Sequences, EqualOneDeviceOnAnyMesh) {
  for (const Kind& kind : kKinds) {
    const auto batches = sequences({7, 1, 10, 3});
    const Trained oracle = train(sequence_net(kind), test_devices(1), momentum_options(), batches);
    for (bool fuse : {true, false})
      for (auto [data, layer, channel, micro_batches] : {std::array{1, 1, 1, 3},
                                                         {2, 1, 1, 1},
                                                         {3, 1, 1, 1},
                                                         {1, 2, 1, 1},
                                                         {1, 2, 1, 3},
                                                         {1, 3, 1, 2},
                                                         {1, 1, 2, 1},
                                                         {2, 2, 2, 2}}) {
        TrainerOptions options = momentum_options();
        options.mesh.layer = layer;
        options.mesh.channel = channel;
        options.micro_batches = micro_batches;
        options.deadline_ms = 60000;
        options.fuse = fuse;
        expect_near(oracle, train(sequence_net(kind), test_devices(data * layer * channel), options, batches),
                    kTolerance, text(kind.name, " on ", data, " x ", layer, " x ", channel));
      }
  }
}

TEST(Sequences, PredictWhatTheyAreEvaluatedOn) {
  const Batch batch = sequences({13})[0];
  for (const Kind& kind : kKinds) {
    std::vector<float> fused, plain;
    TrainerOptions options;
    predict(Trainer(test_context(), sequence_net(kind), test_devices(1), options), batch, fused);
    options.fuse = false;
    predict(Trainer(test_context(), sequence_net(kind), test_devices(2), options), batch, plain);
    EXPECT_LE(difference(plain, fused), kTolerance) << kind.name;
  }
}

TEST(Sequences, GoOnFromAFileBitForBit) {
  const auto batches = sequences({6, 6, 6, 6});
  const std::string path = testing::TempDir() + "sequences.safetensors";
  for (const Kind& kind : kKinds) {
    const Trained whole = train(sequence_net(kind), test_devices(2), momentum_options(), batches);
    StepResult result;
    {
      Trainer trainer(test_context(), sequence_net(kind), test_devices(2), momentum_options());
      for (size_t i : {0, 1}) trainer.step(batches[i], result);
      save_checkpoint(trainer, path);
    }
    Trainer trainer(test_context(), sequence_net(kind), test_devices(2), momentum_options());
    load_checkpoint(trainer, path);
    for (size_t i : {2, 3}) trainer.step(batches[i], result);
    EXPECT_EQ(look_at(trainer).parameters, whole.parameters) << kind.name;
  }
}

// ---- recompute ----

TEST(Sequences, ChangeNoBitWhereTheyAreComputedAgain) {
  const auto batches = sequences({7, 5});
  for (const Kind& kind : kKinds)
    for (DType compute : {DType::f32, DType::bf16})
      for (bool fuse : {true, false})
        for (int devices : {1, 2}) {
          TrainerOptions options = momentum_options();
          options.compute = compute;
          options.fuse = fuse;
          const Trained kept = train(sequence_net(kind), test_devices(devices), options, batches);
          for (const RecomputeSettings& way : std::vector<RecomputeSettings>{
                   {2, {}, 0}, {5, {}, 0}, {20, {}, 0}, {0, {"rnn*"}, 0}, {3, {"rnn2"}, 0}, {0, {}, 30000}}) {
            options.recompute = way;
            EXPECT_TRUE(train(sequence_net(kind), test_devices(devices), options, batches) == kept)
                << kind.name << " in " << name_of(compute) << " on " << devices << ": " << way.segments
                << " segments, layers '" << join(way.layers, ",") << "', budget " << way.budget_bytes;
          }
        }
}

TEST(Sequences, ChangeNoBitWhereAStageComputesThemAgain) {
  const auto batches = sequences({9, 9});
  for (const Kind& kind : kKinds) {
    TrainerOptions options = momentum_options();
    options.mesh.layer = 2;
    options.micro_batches = 3;
    options.deadline_ms = 60000;
    const Trained kept = train(sequence_net(kind), test_devices(2), options, batches);
    for (const RecomputeSettings& way : std::vector<RecomputeSettings>{{4, {}, 0}, {0, {"rnn*"}, 0}}) {
      options.recompute = way;
      EXPECT_TRUE(train(sequence_net(kind), test_devices(2), options, batches) == kept) << kind.name;
    }
  }
}

// The task: 2,000 numbers of noise, whose last 40 are around 1 or around -1. The class is the sign.
constexpr int64_t kSteps = 2000, kSamples = 4, kHidden = 16;

Batch noise_with_an_end(uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  Batch batch;
  batch.shape = {kSamples, kSteps, 1};
  for (int64_t n = 0; n < kSamples; ++n) {
    const bool is_positive = engine() % 2 == 1;
    batch.labels.push_back(is_positive);
    for (int64_t t = 0; t < kSteps; ++t)
      batch.inputs.push_back((t < kSteps - 40 ? 0.0f : is_positive ? 1.0f : -1.0f) + 0.2f * normal(engine));
  }
  return batch;
}

std::shared_ptr<Model> long_net(const Kind& kind) {
  auto model = std::make_shared<Model>("long_net");
  ValueId x = kind.add(*model, "rnn1", model->add_input("x", {kSteps, 1}), kHidden, true);
  x = kind.add(*model, "rnn2", x, kHidden, true);
  model->set_output(add_linear(*model, "fc", add_select_step(*model, "last", x, -1), 2, true));
  initialize_default(*model, 3, false);
  return model;
}

struct LongRun {
  Named parameters;
  std::vector<double> losses;
  size_t value_bytes = 0;
};

LongRun train_long(const Kind& kind, int64_t budget_bytes) {
  TrainerOptions options = momentum_options();
  options.settings[Setting::learning_rate] = 0.3;
  options.recompute.budget_bytes = budget_bytes;
  Trainer trainer(test_context(), long_net(kind), test_devices(1), options);
  LongRun run;
  for (uint64_t step = 0; step < 16; ++step) {
    StepResult result;
    EXPECT_TRUE(trainer.step(noise_with_an_end(step), result));
    run.losses.push_back(result.loss);
  }
  run.parameters = look_at(trainer).parameters;
  run.value_bytes = PlannedMemory(trainer.ranks().at(0).current_plan()).value_bytes();
  return run;
}

TEST(Sequences, OfTwoThousandStepsLearnWithinABudgetWhatTheyLearnWithout) {
  for (const Kind& kind : kKinds) {
    const LongRun kept = train_long(kind, 0);
    const size_t budget = kept.value_bytes / 8;
    const LongRun within = train_long(kind, static_cast<int64_t>(budget));
    EXPECT_LE(within.value_bytes, budget) << kind.name;
    EXPECT_EQ(within.parameters, kept.parameters) << kind.name;
    EXPECT_EQ(within.losses, kept.losses) << kind.name;
    EXPECT_LT(kept.losses.back(), kept.losses.front() / 2) << kind.name << " learns nothing";
  }
}

// With recomputation, a layer keeps the input, the states between sqrt(steps) parts, and the inner
// values of one part.
TEST(Sequences, NeedMemoryByTheSquareRootOfTheirSteps) {
  for (const Kind& kind : kKinds) {
    std::vector<double> kept, least;
    for (int64_t steps : {256, 1024, 4096}) {
      auto model = std::make_shared<Model>("net");
      const ValueId x = kind.add(*model, "rnn", model->add_input("x", {steps, 1}), 32, true);
      model->set_output(add_select_step(*model, "last", x, -1));
      for (auto* bytes : {&kept, &least}) {
        TrainerOptions options;
        options.loss = Loss::mean_squared_error;
        if (bytes == &least) options.recompute.layers = {"rnn"};
        Trainer trainer(test_context(), model, test_devices(1), options);
        trainer.explain(8);
        const auto input = static_cast<double>(8 * steps) * sizeof(float);
        const size_t held = PlannedMemory(trainer.ranks().at(0).current_plan()).value_bytes();
        bytes->push_back(static_cast<double>(held) - input);
      }
    }
    for (size_t i : {0, 1}) {  // i + 1 has four times as many steps
      EXPECT_GT(kept[i + 1] / kept[i], 3.5) << kind.name;
      EXPECT_LT(least[i + 1] / least[i], 2.2) << kind.name;
    }
    EXPECT_LT(least[2], kept[2] / 15) << kind.name;
  }
}

}  // namespace
}  // namespace troika
