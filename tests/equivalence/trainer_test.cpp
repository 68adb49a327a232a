// The functions of a trainer around the step: groups, rates, evaluation, unwrapping, checkpoints.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <numbers>

#include "core/text.h"
#include "equivalence/runs.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "train/checkpoint.h"
#include "train/predictor_pool.h"
#include "train/state_reader.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ParameterGroup frozen(const std::string& pattern) { return {pattern, true}; }

TEST(Groups, ThatAreFrozenKeepEveryBitAndAreNotCommunicated) {
  for (int n : {1, 3}) {
    // With weight decay, which must not change frozen parameters either.
    TrainerOptions options = momentum_options();
    options.groups = {frozen("conv1.*"), frozen("fc.bias")};
    const auto model = conv_net();
    const Named before = parameters_of(*model, false);
    Trainer trainer(test_context(), model, test_devices(n), options);
    StepResult result;
    for (const Batch& batch : make_batches(3, 7)) trainer.step(batch, result);
    trainer.check_replicas();
    const Named after = parameters_of(*model, false);
    std::vector<float> gradient(4);
    for (const auto& [name, values] : before) {
      const bool is_frozen = name == "conv1.weight" || name == "conv1.bias" || name == "fc.bias";
      EXPECT_EQ(values == after.at(name), is_frozen) << name;
      EXPECT_EQ(trainer.state().table_of(0).find(name).bucket == -1, is_frozen) << name;
    }
    EXPECT_THROWS(Status::not_initialized, "frozen", read_gradient(trainer, "conv1.bias", gradient.data(), 16));
    const std::string plan = trainer.explain(7);
    EXPECT_NE(plan.find("conv2d_weight_gradient 'conv2'"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("conv2d_weight_gradient 'conv1'"), std::string::npos) << plan;
  }
}

TEST(Groups, ThatAreFrozenLeaveTheRestAsItWas) {
  TrainerOptions options = momentum_options();
  options.groups = {frozen("conv1.*")};
  const auto batches = make_batches(3, 7);
  expect_near(train(conv_net(), test_devices(1), options, batches),
              train(conv_net(), test_devices(4), options, batches), kTolerance, "frozen");
}

TEST(Groups, ThatAreAllFrozenAreRefused) {
  TrainerOptions options;
  options.groups = {frozen("*")};
  EXPECT_THROWS(Status::invalid_argument, "frozen", Trainer(test_context(), conv_net(), test_devices(2), options));
}

TEST(Groups, HaveTheirOwnRateAndDecay) {
  for (int n : {1, 3}) {
    TrainerOptions options;
    options.settings[Setting::learning_rate] = 0.1;
    options.settings[Setting::weight_decay] = 0.01;
    options.groups = {{"conv2.*", false, {{Setting::learning_rate, 0.5}}},
                      {"*.bias", false, {{Setting::weight_decay, 0.0}}}};
    const auto model = conv_net();
    const Named before = parameters_of(*model, false);
    const Trained run = train(model, test_devices(n), options, make_batches(1, 7));
    for (const auto& [name, gradient] : run.gradients) {
      const bool is_conv2 = name.rfind("conv2.", 0) == 0, is_bias = name.find("bias") != std::string::npos;
      const double rate = is_conv2 ? 0.5 : 0.1,
                   decay = is_bias && !is_conv2 ? 0 : 0.01;  // the first matching pattern applies
      std::vector<float> expected = before.at(name);
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] -= static_cast<float>(rate * (gradient[i] + decay * expected[i]));
      EXPECT_LE(difference(expected, run.parameters.at(name)), 1e-6) << name;
    }
  }
}

TEST(LearningRate, FollowsItsSchedule) {
  struct Expected {
    Schedule schedule;
    double (*at)(int);
  };
  for (const Expected& e : std::vector<Expected>{
           {{}, [](int) { return 0.2; }},
           {{.kind = ScheduleKind::step, .period = 3, .gamma = 0.5},
            [](int step) { return 0.2 * std::pow(0.5, step / 3); }},
           {{.kind = ScheduleKind::cosine, .period = 5, .minimum = 0.02},
            [](int step) { return 0.02 + 0.18 * (1 + std::cos(std::numbers::pi * std::min(step, 5) / 5.0)) / 2; }},
           {{.warmup_steps = 4}, [](int step) { return 0.2 * std::min(1.0, (step + 1) / 4.0); }}}) {
    TrainerOptions options;
    options.settings[Setting::learning_rate] = 0.2;
    options.schedule = e.schedule;
    const auto model = conv_net();
    Trainer trainer(test_context(), model, test_devices(2), options);
    const Batch batch = make_batches(1, 3)[0];
    for (int step = 0; step < 8; ++step) {
      EXPECT_NEAR(trainer.learning_rate(-1), e.at(step), 1e-12);
      const Named before = parameters_of(*model, false);
      StepResult result;
      trainer.step(batch, result);
      EXPECT_NEAR(result.learning_rate, e.at(step), 1e-12);
      EXPECT_EQ(result.step, step + 1);
      const Trained run = look_at(trainer);
      std::vector<float> expected = before.at("fc.weight");
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] -= static_cast<float>(e.at(step)) * run.gradients.at("fc.weight")[i];
      EXPECT_LE(difference(expected, run.parameters.at("fc.weight")), 1e-6) << step;
    }
  }
}

TEST(LearningRate, CanBeSetInTheMiddleOfARun) {
  Trained runs[2];
  for (int i : {0, 1}) {
    Trainer trainer(test_context(), conv_net(), test_devices(i ? 3 : 1), momentum_options());
    const auto batches = make_batches(4, 7);
    StepResult result;
    trainer.step(batches[0], result);
    trainer.set(-1, Setting::learning_rate, 0.01);
    trainer.step(batches[1], result);
    EXPECT_EQ(result.learning_rate, 0.01);
    trainer.step(batches[2], result);
    const Named before = look_at(trainer).parameters;
    trainer.set(-1, Setting::learning_rate, 0);
    trainer.step(batches[3], result);
    runs[i] = look_at(trainer);
    EXPECT_TRUE(runs[i].parameters == before);  // a rate of 0 changes no parameter
  }
  expect_near(runs[0], runs[1], kTolerance, "rates set in the middle");
}

TEST(Evaluate, IsExactForAnySizeOnOneDeviceAndOnAll) {
  for (int64_t samples : {1, 7, 16, 31}) {
    const Batch test = make_batches(1, samples, 3)[0];
    Trainer trainer(test_context(), conv_net(), test_devices(4), {});
    // Counts by hand from the predictions.
    std::vector<float> output;
    predict(trainer, test, output);
    int64_t correct = 0;
    double loss = 0;
    for (int64_t i = 0; i < samples; ++i) {
      const float* row = &output[static_cast<size_t>(i * 5)];
      const int32_t label = test.labels[static_cast<size_t>(i)];
      correct += std::max_element(row, row + 5) - row == label;
      double sum = 0;
      for (int c = 0; c < 5; ++c) sum += std::exp(static_cast<double>(row[c]));
      loss += (std::log(sum) - row[label]) / static_cast<double>(samples);
    }
    const auto dataset = std::make_shared<ArrayDataset>(Shape{1, 8, 7}, test.inputs, test.labels);
    for (int64_t size : {1, 3, 8, 100}) {
      Loader loader(dataset, {.batch = size, .prefetch = 0});
      for (const DeviceId* device :
           {static_cast<const DeviceId*>(nullptr), &trainer.devices()[0], &trainer.devices()[3]}) {
        Metrics metrics;
        trainer.evaluate(loader, device, metrics);
        EXPECT_EQ(metrics.samples, samples);
        EXPECT_EQ(metrics.correct, correct);
        EXPECT_NEAR(metrics.loss, loss, 1e-6 * loss);
      }
    }
  }
}

TEST(Evaluate, LeavesTheStateBitForBit) {
  const TempDirectory directory;
  Trainer trainer(test_context(), batch_norm_net(), test_devices(3), momentum_options());
  StepResult result;
  const auto batches = make_batches(4, 16);
  trainer.step(batches[0], result);
  trainer.step(batches[1], result);
  save_checkpoint(trainer, (directory.path() / "before").string());
  const Trained before = look_at(trainer);
  Loader loader(std::make_shared<ArrayDataset>(Shape{1, 8, 7}, batches[2].inputs, batches[2].labels),
                {.batch = 7, .prefetch = 0});
  Metrics metrics;
  trainer.evaluate(loader, nullptr, metrics);
  trainer.evaluate(loader, &trainer.devices()[1], metrics);
  std::vector<float> output;
  predict(trainer, batches[2], output);
  save_checkpoint(trainer, (directory.path() / "after").string());
  EXPECT_TRUE(look_at(trainer) == before);
  EXPECT_EQ(contents(directory.path() / "before"), contents(directory.path() / "after"));

  // The run continues like a run that never evaluated.
  trainer.step(batches[3], result);
  const Trained without =
      train(batch_norm_net(), test_devices(3), momentum_options(), {batches[0], batches[1], batches[3]});
  EXPECT_TRUE(look_at(trainer).parameters == without.parameters);
}

TEST(Unwrap, GivesAModelThatPredictsAndCanBeAttachedAgain) {
  const auto batches = make_batches(4, 7);
  TrainerOptions options;  // without momentum, which belongs to the trainer, not to the model
  const Trained whole = train(conv_net(), test_devices(2), options, batches);

  const auto model = conv_net();
  auto first = std::make_unique<Trainer>(test_context(), model, test_devices(2), options);
  StepResult result;
  first->step(batches[0], result);
  first->step(batches[1], result);
  std::vector<float> from_trainer, from_model;
  predict(*first, batches[3], from_trainer);
  first.reset();
  {
    PredictorPool inference(test_context(), model);
    from_model.resize(from_trainer.size());
    inference.predict(test_devices(6).back(), batches[3].size(), kNoValue, batches[3].inputs.data(), from_model.data());
    EXPECT_LE(difference(from_trainer, from_model), kTolerance);
  }
  Trainer second(test_context(), model, test_devices(2), options);
  second.step(batches[2], result);
  second.step(batches[3], result);
  EXPECT_TRUE(look_at(second).parameters == whole.parameters);
}

TEST(Unwrap, ByAttachingElsewhereDetachesTheFirst) {
  const auto model = conv_net();
  const auto batches = make_batches(2, 7);
  Trainer first(test_context(), model, test_devices(1), {});
  StepResult result;
  first.step(batches[0], result);
  Trainer second(test_context(), model, test_devices(3), {});
  EXPECT_THROWS(Status::detached, "attached again", first.step(batches[1], result));
  second.step(batches[1], result);
  expect_near(train(conv_net(), test_devices(1), {}, batches).parameters, look_at(second).parameters, kTolerance,
              "parameter");
}

TEST(Checkpoints, ResumeBitForBitAtTheSameCountAndCloselyAtAnother) {
  const TempDirectory directory;
  const auto batches = make_batches(6, 16);
  TrainerOptions options = momentum_options();
  options.schedule = {.kind = ScheduleKind::cosine, .period = 6};
  const std::vector<Batch> head(batches.begin(), batches.begin() + 3);
  const Trained whole = train(dropout_net(), test_devices(4), options, batches);
  {
    Trainer trainer(test_context(), dropout_net(), test_devices(4), options);
    StepResult result;
    for (const Batch& batch : head) trainer.step(batch, result);
    save_checkpoint(trainer, (directory.path() / "state").string());
  }
  for (int n : {4, 2, kMostTestDevices}) {
    Trainer trainer(test_context(), dropout_net(), test_devices(n), options);
    load_checkpoint(trainer, (directory.path() / "state").string());
    StepResult result;
    for (size_t i = 3; i < 6; ++i) trainer.step(batches[i], result);
    const Trained resumed = look_at(trainer);
    if (n == 4) {
      EXPECT_TRUE(resumed.parameters == whole.parameters && resumed.slots == whole.slots);
    }
    expect_near(whole.parameters, resumed.parameters, kTolerance, text(n, " devices, parameter"));
    expect_near(whole.slots, resumed.slots, kTolerance, text(n, " devices, slots"));
  }
}

// On GPUs too: times come from the device's clock, and change no bit.
TEST(Traces, HaveATimeForEveryLaunch) {
  const auto batches = make_batches(3, 12);
  TrainerOptions options = momentum_options();
  const Trained expected = train(conv_net(), test_devices(1), options, batches);
  options.collect_trace = true;
  Trainer trainer(test_context(), conv_net(), test_devices(1), options);
  std::vector<std::string> first;
  for (const Batch& batch : batches) {
    StepResult result;
    trainer.step(batch, result);
    std::istringstream lines(trainer.trace());
    std::vector<std::string> names;
    double begin = 0, end = 0;
    int replica = 0;
    for (std::string name; lines >> replica >> begin >> end && std::getline(lines, name);) {
      EXPECT_EQ(replica, 0);
      EXPECT_GE(end, begin) << name;
      EXPECT_LT(end, 60e6) << name;
      names.push_back(name);
    }
    EXPECT_EQ(names.size(), trainer.ranks().at(0).current_plan().launches.size());
    if (first.empty()) first = names;
    EXPECT_EQ(names, first);
  }
  EXPECT_EQ(expected.parameters, look_at(trainer).parameters);
}

// A trace runs launches one by one. Otherwise a GPU repeats a recording, and tries for 20 steps
// whether early starts make the recording faster.
TEST(Traces, ChangeNoBitOfManySteps) {
  const auto batches = make_batches(26, 12);
  for (DType compute : {DType::f32, DType::bf16})
    for (const auto& build : {conv_net, batch_norm_net}) {
      TrainerOptions options = momentum_options();
      options.compute = compute;
      const Trained repeated = train(build(), test_devices(1), options, batches);
      options.collect_trace = true;
      EXPECT_TRUE(repeated == train(build(), test_devices(1), options, batches)) << name_of(compute);
    }
}

}  // namespace
}  // namespace troika
