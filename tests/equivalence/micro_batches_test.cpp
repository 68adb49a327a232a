// A batch in parts has the same results as the whole batch. Logical shards compute the same bits on
// any number of devices.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"
#include "support/planned_memory.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices

TrainerOptions in_parts(int64_t micro_batches) {
  TrainerOptions options = momentum_options();
  options.micro_batches = micro_batches;
  return options;
}

TrainerOptions in_shards(int64_t logical_shards) {
  TrainerOptions options = momentum_options();
  options.logical_shards = logical_shards;
  return options;
}

TEST(MicroBatches, EqualTheWholeBatch) {
  for (int n : {1, 2, 3})
    for (int64_t samples : {1, 7, 31}) {
      const auto batches = make_batches(4, samples);
      for (const auto& net : {conv_net, dropout_net}) {
        const Trained oracle = train(net(), test_devices(1), momentum_options(), batches);
        for (int64_t parts : {2, 3, 5})
          expect_near(oracle, train(net(), test_devices(n), in_parts(parts), batches), kTolerance,
                      text(samples, " samples in ", parts, " parts on ", n, " devices"));
      }
    }
}

TEST(MicroBatches, SumTheLossesWhereAskedFor) {
  const auto batches = make_batches(3, 13);
  TrainerOptions whole = momentum_options(), parts = in_parts(4);
  whole.reduction = parts.reduction = Reduction::sum;
  whole.settings[Setting::learning_rate] = parts.settings[Setting::learning_rate] = 0.01;
  expect_near(train(conv_net(), test_devices(1), whole, batches), train(conv_net(), test_devices(2), parts, batches),
              kTolerance, "sum");
}

TEST(MicroBatches, NormaliseEachPartByItselfAsSoManyDevicesDo) {
  const auto batches = make_batches(4, 19);
  for (int parts : {2, 3, 4}) {
    const Trained devices = train(batch_norm_net(), test_devices(parts), momentum_options(), batches);
    Trained found = train(batch_norm_net(), test_devices(1), in_parts(parts), batches);
    EXPECT_EQ(found.buffers.at("bn1.num_batches_tracked"), std::vector<float>{static_cast<float>(4 * parts)});
    // One device tracks the statistics of every part; several devices track those of the first
    // device.
    found.buffers = devices.buffers;
    // BatchNorm cancels this bias: its gradient is only rounding.
    forget(found, "conv2.bias");
    Trained expected = devices;
    forget(expected, "conv2.bias");
    expect_near(expected, found, 2e-5, text(parts, " parts"));
  }
}

TEST(MicroBatches, AddTheirGradientsBeforeOneAllReduce) {
  TrainerOptions options = in_parts(3);
  options.collect_trace = true;
  options.bucket_bytes = int64_t{1} << 30;
  Trainer trainer(test_context(), conv_net(), test_devices(2), options);
  StepResult result;
  trainer.step(make_batches(1, 12)[0], result);
  const std::string trace = trainer.trace();
  size_t reductions = 0, passes = 0;
  for (size_t at = 0; (at = trace.find("start_all_reduce", at)) != std::string::npos; ++at) ++reductions;
  for (size_t at = 0; (at = trace.find("cross_entropy loss", at)) != std::string::npos; ++at) ++passes;
  EXPECT_EQ(reductions, 2u) << trace;  // one per device
  EXPECT_EQ(passes, 6u) << trace;
}

TEST(MicroBatches, TakeLessMemory) {
  const auto value_bytes = [](int64_t parts) {
    Trainer trainer(test_context(), conv_net(), test_devices(1), in_parts(parts));
    trainer.explain(256);
    return PlannedMemory(trainer.ranks().at(0).current_plan()).value_bytes();
  };
  EXPECT_LT(value_bytes(8), value_bytes(1) * 3 / 10);
}

TEST(MicroBatches, SkipTheStepWhereOnePartIsNotFinite) {
  TrainerOptions options = in_parts(4);
  options.conditioning.is_scaled = true;
  options.loss_scale = 1024;
  auto batches = make_batches(2, 16);
  batches[0].inputs[3 * 56 * 4 + 5] = std::numeric_limits<float>::infinity();  // in the second part
  Trainer trainer(test_context(), conv_net(), test_devices(1), options);
  const Named before = parameters_of(*trainer.model(), false);
  StepResult result;
  trainer.step(batches[0], result);
  EXPECT_TRUE(result.is_skipped);
  EXPECT_EQ(parameters_of(*trainer.model(), false), before);
  trainer.step(batches[1], result);
  EXPECT_FALSE(result.is_skipped);
}

TEST(LogicalShards, GiveTheSameBitsOnAnyNumberOfDevices) {
  // Full batches, uneven batches, and batches in which some shards have no samples.
  std::vector<int64_t> sizes;
  for (int i = 0; i < 10; ++i)
    for (int64_t samples : {16, 31, 24, 19, 17}) sizes.push_back(samples);
  for (const auto& net : {conv_net, dropout_net, batch_norm_net}) {
    const auto batches = make_batches(sizes);
    const Trained one = train(net(), test_devices(1), in_shards(8), batches);
    for (int n : {2, 4, 8}) EXPECT_TRUE(train(net(), test_devices(n), in_shards(8), batches) == one) << n << " devices";
  }
  const auto few = make_batches({3, 1, 7, 2, 5});
  const Trained one = train(conv_net(), test_devices(1), in_shards(8), few);
  for (int n : {2, 4, 8}) EXPECT_TRUE(train(conv_net(), test_devices(n), in_shards(8), few) == one) << n << " devices";
}

TEST(LogicalShards, EqualTheWholeBatch) {
  const auto batches = make_batches(4, 21);
  const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
  for (int64_t shards : {1, 2, 4, 16})
    expect_near(oracle, train(conv_net(), test_devices(1), in_shards(shards), batches), kTolerance,
                text(shards, " shards"));
}

TEST(LogicalShards, GoOnWithTheSameBitsOnOtherDevicesFromAFile) {
  const auto batches = make_batches(12, 29);
  const Trained whole = train(batch_norm_net(), test_devices(4), in_shards(8), batches);
  const std::string path = testing::TempDir() + "logical_shards.safetensors";
  size_t next = 0;
  for (int n : {4, 1, 8, 2}) {  // three steps on each
    const auto model = batch_norm_net();
    Trainer trainer(test_context(), model, test_devices(n), in_shards(8));
    if (next > 0) load_checkpoint(trainer, path);
    StepResult result;
    for (int i = 0; i < 3; ++i) trainer.step(batches[next++], result);
    save_checkpoint(trainer, path);
    if (next < batches.size()) continue;
    const Trained found = look_at(trainer);
    EXPECT_EQ(found.parameters, whole.parameters);
    EXPECT_EQ(found.buffers, whole.buffers);
    EXPECT_EQ(found.slots, whole.slots);
  }
}

TEST(LogicalShards, RefuseWhatWouldNotGiveTheSameBits) {
  auto attach = [](int devices, const TrainerOptions& options) {
    Trainer(test_context(), conv_net(), test_devices(devices), options);
  };
  EXPECT_THROWS(Status::invalid_argument, "troika_model_attach: options.logical_shards is 6, need a power of 2",
                attach(1, in_shards(6)));
  EXPECT_THROWS(Status::invalid_argument,
                "troika_model_attach: options.logical_shards is 8, needs 1, 2, 4 ... 8 devices; found 3",
                attach(3, in_shards(8)));
  EXPECT_THROWS(Status::invalid_argument, "logical_shards is 2, needs 1, 2, 4 ... 2 devices; found 4",
                attach(4, in_shards(2)));
  TrainerOptions both = in_shards(2);
  both.micro_batches = 2;
  EXPECT_THROWS(Status::invalid_argument,
                "troika_model_attach: options.logical_shards is 2, needs options.micro_batches of 1; found 2",
                attach(1, both));
}

}  // namespace
}  // namespace troika
