// Known mistakes of other libraries' multi-device training, each as a regression test.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/layers.h"
#include "ops/op_def.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;

// darknet: each device trains by itself and weights are averaged. The loss goes down; only a
// comparison with the oracle shows the mistake.
TEST(Trap, AveragingWeightsInsteadOfGradientsWouldBeSeen) {
  const auto batches = make_batches(4, 7);
  std::vector<Batch> first, second;
  for (const Batch& batch : batches) {
    first.push_back(slice(batch, 0, 4));
    second.push_back(slice(batch, 4, 7));
  }
  const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches),
                two = train(conv_net(), test_devices(2), momentum_options(), batches);
  const Trained a = train(conv_net(), test_devices(1), momentum_options(), first),
                b = train(conv_net(), test_devices(1), momentum_options(), second);
  for (const auto& [name, values] : oracle.parameters) {
    std::vector<float> averaged;
    for (size_t i = 0; i < values.size(); ++i)
      averaged.push_back((4 * a.parameters.at(name)[i] + 3 * b.parameters.at(name)[i]) / 7);
    EXPECT_GT(difference(values, averaged), 100 * kTolerance) << name;
    EXPECT_LE(difference(values, two.parameters.at(name)), kTolerance) << name;
  }
}

// burn#3581: the reduction changed from mean to sum without notice. Here the file names the mode,
// and another mode is refused.
TEST(Trap, MeanAndSumCannotBeMixedUpThroughACheckpoint) {
  const TempDirectory directory;
  Trainer mean(test_context(), conv_net(), test_devices(2), momentum_options());
  StepResult result;
  mean.step(make_batches(1, 3)[0], result);
  save_checkpoint(mean, (directory.path() / "state").string());
  TrainerOptions options = momentum_options();
  options.reduction = Reduction::sum;
  Trainer sum(test_context(), conv_net(), test_devices(2), options);
  EXPECT_THROWS(Status::mismatch, "reduction", load_checkpoint(sum, (directory.path() / "state").string()));
}

// darknet: BatchNorm statistics were missing in the list of synchronised arrays. Here everything in
// the registry is saved and resumed, whatever its layer.
TEST(Trap, NothingOfTheRegistryIsForgotten) {
  const TempDirectory directory;
  Trainer trainer(test_context(), batch_norm_net(), test_devices(3), momentum_options());
  StepResult result;
  for (const Batch& batch : make_batches(3, 16)) trainer.step(batch, result);
  save_checkpoint(trainer, (directory.path() / "state").string());
  const Trained saved = look_at(trainer);
  const auto model = batch_norm_net();
  Trainer other(test_context(), model, test_devices(2), momentum_options());
  load_checkpoint(other, (directory.path() / "state").string());
  EXPECT_TRUE(parameters_of(*model, false) == saved.parameters);
  EXPECT_TRUE(parameters_of(*model, true) == saved.buffers);
  EXPECT_EQ(saved.buffers.size(), 6u);
  EXPECT_TRUE(other.read_slots() == saved.slots);
  // Also on every device of the new trainer.
  const Batch batch = make_batches(1, 7)[0];
  std::vector<float> a, b;
  predict(trainer, batch, a);
  predict(other, batch, b);
  EXPECT_LE(difference(a, b), kTolerance);
  other.check_replicas();
}

// burn drops the remainder at an epoch's end; ggml asserts that there is no remainder.
TEST(Trap, TheLastSmallerBatchOfAnEpochIsTrainedOn) {
  const Batch all = make_batches(1, 10)[0];
  const auto dataset = std::make_shared<ArrayDataset>(Shape{1, 8, 7}, all.inputs, all.labels);
  Trained runs[2];
  for (int i : {0, 1}) {
    Trainer trainer(test_context(), conv_net(), test_devices(i ? 3 : 1), momentum_options());
    Loader loader(dataset, {.batch = 4, .shuffle = true, .prefetch = 2, .seed = 3});
    for (int epoch = 0; epoch < 2; ++epoch) {
      Metrics metrics;
      EXPECT_TRUE(trainer.train_epoch(loader, metrics));
      EXPECT_EQ(metrics.samples, 10);
      EXPECT_EQ(trainer.training_state().position.step, 3 * (epoch + 1));
      runs[i].losses.push_back(metrics.loss);
      runs[i].correct.push_back(metrics.correct);
    }
    const auto [losses, correct] = std::pair(runs[i].losses, runs[i].correct);
    runs[i] = look_at(trainer);
    runs[i].losses = losses;
    runs[i].correct = correct;
  }
  expect_near(runs[0], runs[1], kTolerance, "two epochs of 4, 4 and 2 samples");
}

// ggml aborts on an op without a gradient; a later version skipped the op silently.
TEST(Trap, AnOpWithoutAGradientIsAnErrorThatNamesIt) {
  Graph graph;
  const ValueId x = graph.add_value("x", {DType::f32, {2, 3, 4, 4}}, Role::samples);
  const ValueId w = graph.add_value("w", {DType::f32, {3}}, Role::parameter);
  const ValueId count = graph.add_value("n", {DType::i64, {}}, Role::buffer);
  const ValueId y = append_node(graph, batch_norm2d_inference_op, "bn7", {x, w, w, w, w, count, kNoValue},
                                {{"eps", 1e-5}, {"momentum", 0.1}})[0];
  const ValueId flat = append_node(graph, reshape_op, "flatten", {y}, {{"shape", std::vector<int64_t>{-1}}})[0];
  graph.outputs = {flat};
  append_loss(graph, {.kind = Loss::cross_entropy, .scale = 1.0});
  EXPECT_THROWS(Status::unsupported, "batch_norm2d_inference 'bn7'", autodiff(graph, {"w"}));
}

// MXNet froze 1 / (first batch's size) into the update.
TEST(Trap, EachStepIsScaledByItsOwnBatch) {
  const auto batches = make_batches({16, 3, 31, 1, 7, 16});
  const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
  for (int n : {2, 4, kMostTestDevices})
    expect_near(oracle, train(conv_net(), test_devices(n), momentum_options(), batches), kTolerance,
                text(n, " devices"));
  // Also by definition: the gradients of a sample twice equal the gradients of the sample once.
  const Batch one = make_batches(1, 1)[0];
  Batch twice = one;
  twice.shape = one.shape.with_batch(2);
  twice.inputs.insert(twice.inputs.end(), one.inputs.begin(), one.inputs.end());
  twice.labels.push_back(one.labels[0]);
  const Trained a = train(conv_net(), test_devices(2), momentum_options(), {batches[0], one}),
                b = train(conv_net(), test_devices(2), momentum_options(), {batches[0], twice});
  expect_near(a.gradients, b.gradients, kTolerance, "gradient");
}

// mxnet#10910: optimizer state of eight devices could not be loaded on fewer.
TEST(Trap, OptimizerStateOfManyDevicesLoadsOnOne) {
  const TempDirectory directory;
  const auto batches = make_batches(4, 16);
  Trainer many(test_context(), conv_net(), test_devices(kMostTestDevices), momentum_options());
  StepResult result;
  many.step(batches[0], result);
  many.step(batches[1], result);
  save_checkpoint(many, (directory.path() / "state").string());
  Trainer one(test_context(), conv_net(), test_devices(1), momentum_options());
  load_checkpoint(one, (directory.path() / "state").string());
  one.step(batches[2], result);
  one.step(batches[3], result);
  const Trained whole = train(conv_net(), test_devices(1), momentum_options(), batches), found = look_at(one);
  expect_near(whole.parameters, found.parameters, kTolerance, "parameter");
  expect_near(whole.slots, found.slots, kTolerance, "slots");
}

// dlib#2152: a shard of one sample and one pixel has no variance. The message names the device and
// the layer, and no state is lost.
TEST(Trap, AShardOfOneValueAChannelIsRefusedByNameAndTheTrainerGoesOn) {
  const auto make = [] {
    auto model = std::make_shared<Model>("net");
    ValueId x = add_conv2d(*model, "conv", model->add_input("x", {1, 8, 7}),
                           {3, {{8, 7}, {1, 1}, {0, 0}, {1, 1}}, 1, true});  // to 1 x 1
    x = add_batch_norm2d(*model, "layer3.bn", x);
    model->set_output(add_linear(*model, "fc", add_flatten(*model, "flatten", x), 5, true));
    return model;
  };
  const auto model = make();
  Trainer trainer(test_context(), model, test_devices(2), momentum_options());
  const auto batches = make_batches({4, 3, 4});
  StepResult result;
  trainer.step(batches[0], result);
  const Trained before = look_at(trainer);
  EXPECT_THROWS(Status::invalid_argument, text("'layer3.bn' on ", trainer.devices()[1]),
                trainer.step(batches[1], result));  // 2 samples and 1 sample
  EXPECT_TRUE(look_at(trainer) == before);
  ASSERT_TRUE(trainer.step(batches[2], result));
  EXPECT_EQ(result.step, 2);
  trainer.check_replicas();
}

// mxnet#13909: a batch with fewer samples than devices raised an error.
TEST(Trap, DevicesWithoutSamplesWeighNothing) {
  const auto batches = make_batches({16, 3, 1, 3});
  const Trained oracle = train(dropout_net(), test_devices(1), momentum_options(), batches);
  expect_near(oracle, train(dropout_net(), test_devices(kMostTestDevices), momentum_options(), batches), kTolerance,
              "many devices");
}

}  // namespace
}  // namespace troika
