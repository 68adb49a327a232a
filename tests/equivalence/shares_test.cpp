// Parts of a batch that are not equal: for devices of different speed.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"
#include "train/single_batch.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices

struct Division {
  Mesh mesh;
  std::vector<double> shares;
};

const std::vector<Division>& divisions() {
  static const std::vector<Division> all = {{{2, 1, 1}, {3, 1}},       {{2, 1, 1}, {1, 20}}, {{3, 1, 1}, {0.2, 1, 0.5}},
                                            {{4, 1, 1}, {1, 5, 1, 3}}, {{2, 2, 1}, {1, 2}},  {{2, 1, 2}, {4, 3}},
                                            {{2, 2, 2}, {1, 3}}};
  return all;
}

TrainerOptions options_of(const Division& division) {
  TrainerOptions options = momentum_options();
  options.mesh = division.mesh;
  options.shares = division.shares;
  options.deadline_ms = 60000;
  return options;
}

TEST(Shares, ComputeWhatOneDeviceComputes) {
  const auto batches = make_batches({16, 13, 2, 1, 16});  // some devices get no sample
  for (const auto& net : {conv_net, dropout_net}) {
    const Trained oracle = train(net(), test_devices(1), momentum_options(), batches);
    for (const Division& division : divisions())
      for (int64_t micro_batches : {1, 3}) {
        TrainerOptions options = options_of(division);
        options.micro_batches = micro_batches;
        const auto devices = test_devices(devices_of(division.mesh));
        const std::string what = text(name_of(division.mesh), " by ", join(division.shares, ", "));
        const Trained found = train(net(), devices, options, batches);
        expect_near(oracle, found, kTolerance, what);
        options.shards_optimizer = true;
        EXPECT_TRUE(train(net(), devices, options, batches) == found) << what;
      }
  }
}

TEST(Shares, EvaluateAllSamples) {
  const auto batches = make_batches({13, 2, 1});
  Trainer one(test_context(), conv_net(), test_devices(1), momentum_options());
  for (const Division& division : divisions()) {
    Trainer many(test_context(), conv_net(), test_devices(devices_of(division.mesh)), options_of(division));
    for (const Batch& batch : batches) {
      StepResult expected, found;
      EXPECT_TRUE(evaluate_batch(one, batch, expected));
      EXPECT_TRUE(evaluate_batch(many, batch, found));
      EXPECT_NEAR(expected.loss, found.loss, 1e-6) << name_of(division.mesh);
      EXPECT_EQ(expected.correct, found.correct) << name_of(division.mesh);
    }
  }
}

TEST(Shares, NormaliseTheirSamplesTogether) {
  const auto batches = make_batches({16, 13, 9});
  const auto train_on = [&](int devices, const TrainerOptions& options) {
    Trained run = train(batch_norm_net(), test_devices(devices), options, batches);
    forget(run, "conv2.bias");  // BatchNorm cancels it: its gradient is only rounding
    return run;
  };
  const Trained oracle = train_on(1, momentum_options());
  for (const Division& division : divisions()) {
    if (devices_of(division.mesh) > 4) continue;
    TrainerOptions options = options_of(division);
    options.syncs_statistics = true;
    expect_near(oracle, train_on(devices_of(division.mesh), options), 5e-5, name_of(division.mesh));
  }
}

TEST(Shares, AreThoseOfPiecesToo) {
  for (const Division& division : divisions())
    expect_same_in_pieces(conv_net, test_devices(devices_of(division.mesh)), options_of(division),
                          make_batches({7, 10, 1}), name_of(division.mesh));
}

TEST(Shares, PredictAllRows) {
  const Batch batch = make_batches(1, 13)[0];
  std::vector<float> expected;
  predict(Trainer(test_context(), conv_net(), test_devices(1), momentum_options()), batch, expected);
  for (const Division& division : divisions()) {
    std::vector<float> found;
    predict(Trainer(test_context(), conv_net(), test_devices(devices_of(division.mesh)), options_of(division)), batch,
            found);
    EXPECT_LE(difference(expected, found), kTolerance) << name_of(division.mesh);
  }
}

}  // namespace
}  // namespace troika
