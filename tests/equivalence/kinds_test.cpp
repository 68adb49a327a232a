// CPUs and GPUs in one trainer.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"
#include "support/throws.h"
#include "train/single_batch.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices

class Kinds : public testing::Test {
 protected:
  void SetUp() override {
    if (is_on_cpu()) GTEST_SKIP() << "TROIKA_TEST_DEVICE is " << test_device() << ", needs a GPU";
  }

  // Returns devices, such as "gcc": the test GPU, cpu:0 and cpu:1.
  static std::vector<DeviceId> devices_of(const std::string& kinds) {
    std::vector<DeviceId> devices;
    int cpus = 0;
    for (char kind : kinds) devices.push_back(kind == 'g' ? test_device() : DeviceId{DeviceKind::cpu, cpus++});
    return devices;
  }
};

struct Attached {
  std::string kinds;
  Mesh mesh;
  std::vector<double> shares = {};
};

const std::vector<Attached>& lists() {
  static const std::vector<Attached> all = {{"gc", {2, 1, 1}},         {"cg", {2, 1, 1}, {1, 4}}, {"ggc", {3, 1, 1}},
                                            {"gc", {1, 2, 1}},         {"cggc", {2, 2, 1}},       {"ggcc", {2, 1, 2}},
                                            {"ccgggggg", {2, 2, 2}, {1, 3}}};
  return all;
}

void use_adam(TrainerOptions& options) {
  options.optimizer = &adam_optimizer;
  options.settings = {};
  options.settings[Setting::learning_rate] = 0.01;
}

TEST_F(Kinds, ComputeWhatOneDeviceComputes) {
  const auto batches = make_batches({16, 13, 2, 1, 16});  // some devices get no sample
  for (const auto& net : {conv_net, dropout_net})
    for (bool is_adam : {false, true}) {
      TrainerOptions options = momentum_options();
      if (is_adam) use_adam(options);
      options.conditioning.max_norm = 0.5;
      options.average_decay = 0.9;
      options.deadline_ms = 60000;
      const Trained oracle = train(net(), {{DeviceKind::cpu, 0}}, options, batches);
      for (const Attached& list : lists())
        for (int64_t micro_batches : {1, 3}) {
          options.mesh = list.mesh;
          options.shares = list.shares;
          options.micro_batches = micro_batches;
          const Trained found = train(net(), devices_of(list.kinds), options, batches);
          expect_near(oracle, found, is_adam ? 20 * kTolerance : kTolerance, text(list.kinds, " as ", name_of(list.mesh)));
        }
    }
}

TEST_F(Kinds, NormaliseTheWholeBatchTogether) {
  const auto batches = make_batches({16, 13, 16});
  TrainerOptions options = momentum_options();
  const Trained oracle = train(batch_norm_net(), {{DeviceKind::cpu, 0}}, options, batches);
  options.syncs_statistics = true;
  for (const char* kinds : {"gc", "cgg"}) {
    const Trained found = train(batch_norm_net(), devices_of(kinds), options, batches);
    expect_near(oracle, found, 10 * kTolerance, kinds);
  }
}

// look_at compares the bits of replicas.
TEST_F(Kinds, HoldTheSameBitsAfterManySteps) {
  const auto batches = make_batches(60, 12);
  for (DType compute : {DType::f32, DType::bf16, DType::f16}) {
    TrainerOptions options;
    use_adam(options);
    options.compute = compute;
    EXPECT_EQ(train(conv_net(), devices_of("gcc"), options, batches).losses.size(), batches.size());
  }
}

TEST_F(Kinds, EvaluateAndPredictAllSamples) {
  const auto batches = make_batches({13, 2, 1});
  const std::vector<DeviceId> cpu = {{DeviceKind::cpu, 0}};
  Trainer one(test_context(), conv_net(), cpu, momentum_options());
  for (const Attached& list : lists()) {
    TrainerOptions options = momentum_options();
    options.mesh = list.mesh;
    options.shares = list.shares;
    Trainer many(test_context(), conv_net(), devices_of(list.kinds), options);
    for (const Batch& batch : batches) {
      StepResult expected, found;
      EXPECT_TRUE(evaluate_batch(one, batch, expected));
      EXPECT_TRUE(evaluate_batch(many, batch, found));
      EXPECT_NEAR(expected.loss, found.loss, 1e-6) << list.kinds;
      EXPECT_EQ(expected.correct, found.correct) << list.kinds;
      std::vector<float> expected_output, output;
      predict(one, batch, expected_output);
      predict(many, batch, output);
      EXPECT_LT(difference(expected_output, output), kTolerance) << list.kinds;
    }
  }
}

TEST_F(Kinds, AreRefusedWhereReplicasWouldDiffer) {
  TrainerOptions options;
  options.mesh = {1, 1, 2};
  EXPECT_THROWS(Status::unsupported,
                "troika_model_attach: options.mesh splits channels over ranks 0 and 1, which are on a CPU and a GPU; "
                "split by data or by layer there",
                Trainer(test_context(), conv_net(), devices_of("cg"), options));
  options = TrainerOptions();
  options.updates_late = true;
  EXPECT_THROWS(Status::unsupported, "options.late_updates is 1, needs CPUs alone or GPUs alone",
                Trainer(test_context(), conv_net(), devices_of("cg"), options));
}

}  // namespace
}  // namespace troika
