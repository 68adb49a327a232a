// N devices compute the same as one device on the whole batch: for any N, any batch size, any
// bucket size and any optimizer settings.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "support/throws.h"

namespace troika {
namespace {

// The rounding error of f32 is 6e-8. On N devices, sums over samples have another order, and each
// step depends on the previous steps: a few hundred roundings, most of which cancel.
constexpr double kTolerance = 5e-6;

class Devices : public ::testing::TestWithParam<std::tuple<int, int64_t>> {
 protected:
  const int n = std::get<0>(GetParam());
  const int64_t samples = std::get<1>(GetParam());
};

TEST_P(Devices, EqualOneForEveryOptimizerAndBucket) {
  const auto batches = make_batches(4, samples);
  for (double momentum : {0.0, 0.9})
    for (bool nesterov : {false, true}) {
      if (momentum == 0 && nesterov) continue;
      TrainerOptions options = momentum_options();
      options.settings[Setting::momentum] = momentum;
      options.settings[Setting::nesterov] = nesterov;
      const Trained oracle = train(conv_net(), test_devices(1), options, batches);
      expect_near(oracle, train(conv_net(), test_devices(n), options, batches), kTolerance,
                  text("momentum ", momentum, nesterov ? ", nesterov" : ""));
    }
}

TEST_P(Devices, GiveTheSameBitsForEveryBucketSize) {
  const auto batches = make_batches(3, samples);
  TrainerOptions options = momentum_options();
  const Trained first = train(conv_net(), test_devices(n), options, batches);
  for (int64_t bucket_bytes : {int64_t{0}, int64_t{1024}, int64_t{1} << 20, int64_t{1} << 30}) {
    options.bucket_bytes = bucket_bytes;
    EXPECT_TRUE(train(conv_net(), test_devices(n), options, batches) == first)
        << "buckets of " << bucket_bytes << " bytes";
  }
}

TEST_P(Devices, SumTheLossesWhereAskedFor) {
  const auto batches = make_batches(2, samples);
  TrainerOptions options = momentum_options();
  options.reduction = Reduction::sum;
  options.settings[Setting::learning_rate] = 0.1 / static_cast<double>(samples);
  const Trained oracle = train(conv_net(), test_devices(1), options, batches);
  expect_near(oracle, train(conv_net(), test_devices(n), options, batches), kTolerance, "sum");
  // The sum is the mean times the number of samples.
  options = momentum_options();
  const Trained mean = train(conv_net(), test_devices(n), options, {batches[0]});
  EXPECT_NEAR(oracle.losses[0], mean.losses[0] * static_cast<double>(samples), 1e-5 * oracle.losses[0]);
}

TEST_P(Devices, DrawTheSameDropoutMasks) {
  const auto batches = make_batches(3, samples);
  const Trained oracle = train(dropout_net(), test_devices(1), momentum_options(), batches);
  expect_near(oracle, train(dropout_net(), test_devices(n), momentum_options(), batches), kTolerance, "dropout");
}

TEST_P(Devices, PredictAndEvaluateAsOne) {
  const auto context = test_context();
  TrainerOptions options = momentum_options();
  Trainer one(context, batch_norm_net(), test_devices(1), options),
      many(context, batch_norm_net(), test_devices(n), options);
  const Batch batch = make_batches(1, samples)[0];
  std::vector<float> expected, found;
  predict(one, batch, expected);
  predict(many, batch, found);
  EXPECT_LE(difference(expected, found), kTolerance);

  const auto dataset = std::make_shared<ArrayDataset>(Shape{1, 8, 7}, batch.inputs, batch.labels);
  for (int64_t size : {int64_t{4}, int64_t{64}}) {
    Loader loader(dataset, {.batch = size, .prefetch = 0});
    Metrics a, b, c;
    one.evaluate(loader, nullptr, a);
    many.evaluate(loader, nullptr, b);
    const DeviceId last = many.devices().back();
    many.evaluate(loader, &last, c);
    EXPECT_EQ(a.samples, samples);
    for (const Metrics* m : {&b, &c}) {
      EXPECT_EQ(m->samples, samples);
      EXPECT_EQ(m->correct, a.correct);
      EXPECT_NEAR(m->loss, a.loss, 1e-6 * a.loss);
    }
  }
}

std::vector<int> counts() {
  std::vector<int> counts = {1, 2, 3, 4};
  counts.push_back(kMostTestDevices);
  return counts;
}

INSTANTIATE_TEST_SUITE_P(Matrix, Devices,
                         ::testing::Combine(::testing::ValuesIn(counts()), ::testing::Values<int64_t>(1, 3, 7, 16, 31)),
                         [](const auto& info) {
                           return text(std::get<0>(info.param), "DevicesBatch", std::get<1>(info.param));
                         });

TEST(Replicas, OfOneDeviceTwiceEqualOne) {
  const auto batches = make_batches(4, 7);
  const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
  const DeviceId device = test_device();
  expect_near(oracle, train(conv_net(), {device, device}, momentum_options(), batches), kTolerance,
              text(device, " twice"));
}

TEST(Replicas, StartFromTheSameNumbersForAnyCount) {
  Named first;
  for (int n : {1, 2, kMostTestDevices}) {
    auto model = conv_net();
    initialize_default(*model, 77, false);
    const Trainer trainer(test_context(), model, test_devices(n), {});
    if (n == 1) first = parameters_of(*model, false);
    EXPECT_TRUE(parameters_of(*model, false) == first) << n;
  }
}

TEST(Replicas, GiveTheSameBitsInEveryRun) {
  for (int n : {1, 3, kMostTestDevices}) {
    const auto batches = make_batches(4, 31);
    EXPECT_TRUE(train(conv_net(), test_devices(n), momentum_options(), batches) ==
                train(conv_net(), test_devices(n), momentum_options(), batches))
        << n;
    EXPECT_TRUE(train(dropout_net(), test_devices(n), momentum_options(), batches) ==
                train(dropout_net(), test_devices(n), momentum_options(), batches))
        << n;
  }
}

TEST(Replicas, StayBitIdenticalOverAHundredSteps) {
  for (int n : {2, kMostTestDevices}) {
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < 100; ++i) sizes.push_back(i % 10 == 9 ? 3 : 16);
    train(conv_net(), test_devices(n), momentum_options(), make_batches(sizes));  // checks the replicas at its end
  }
}

TEST(Replicas, AreMeanSquaredErrorAndItsTargetsSplitAsWell) {
  Batch batch = make_batches(1, 7)[0];
  batch.value_size = 5;
  for (int i = 0; i < 35; ++i) batch.values.push_back(static_cast<float>(i % 9) - 4);
  batch.labels.clear();
  TrainerOptions options = momentum_options();
  options.loss = Loss::mean_squared_error;
  options.settings[Setting::learning_rate] = 0.01;
  const Trained oracle = train(conv_net(), test_devices(1), options, {batch, batch});
  for (int n : {2, kMostTestDevices})
    expect_near(oracle, train(conv_net(), test_devices(n), options, {batch, batch}), kTolerance, text(n, " devices"));
}

TEST(Dropout, DrawsOtherMasksInOtherStepsAndForOtherSeeds) {
  TrainerOptions options;
  options.settings[Setting::learning_rate] = 0;
  const Batch batch = make_batches(1, 16)[0];
  const Trained run = train(dropout_net(), test_devices(2), options, {batch, batch});
  EXPECT_NE(run.losses[0], run.losses[1]);
  options.seed = 1;
  EXPECT_NE(train(dropout_net(), test_devices(2), options, {batch}).losses[0], run.losses[0]);
}

TEST(SampleWeights, AreThoseOfTheWholeBatchNotOfTheShards) {
  // 7 samples on 2 devices are split into 4 and 3. In the mean of the shards' means, each of the 3
  // samples would have too much weight.
  const Batch batch = make_batches(1, 7)[0];
  TrainerOptions options;
  const Trained whole = train(conv_net(), test_devices(1), options, {batch}),
                two = train(conv_net(), test_devices(2), options, {batch});
  const Trained a = train(conv_net(), test_devices(1), options, {slice(batch, 0, 4)}),
                b = train(conv_net(), test_devices(1), options, {slice(batch, 4, 7)});
  for (const auto& [name, gradient] : whole.gradients) {
    std::vector<float> weighted, mean_of_means;
    for (size_t i = 0; i < gradient.size(); ++i) {
      weighted.push_back((4 * a.gradients.at(name)[i] + 3 * b.gradients.at(name)[i]) / 7);
      mean_of_means.push_back((a.gradients.at(name)[i] + b.gradients.at(name)[i]) / 2);
    }
    EXPECT_LE(difference(gradient, two.gradients.at(name)), kTolerance) << name;
    EXPECT_LE(difference(weighted, two.gradients.at(name)), kTolerance) << name;
    EXPECT_GT(difference(mean_of_means, two.gradients.at(name)), 1e-3) << name;
  }
  EXPECT_NEAR(two.losses[0], (4 * a.losses[0] + 3 * b.losses[0]) / 7, 1e-6);
  EXPECT_GT(std::abs(two.losses[0] - (a.losses[0] + b.losses[0]) / 2), 1e-4);
}

}  // namespace
}  // namespace troika
