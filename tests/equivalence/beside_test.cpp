// Gradients of weights that run concurrently with the rest of the backward pass. The results have
// the same bits as if every launch waits for the previous launch.
#include <gtest/gtest.h>

#include <limits>

#include "equivalence/runs.h"

namespace troika {
namespace {

constexpr double kAll = 0, kNone = std::numeric_limits<double>::infinity();

Trained train_with(double least_beside, const std::shared_ptr<Model>& model, int devices, TrainerOptions options) {
  options.least_beside = least_beside;
  // The second step of a batch size is recorded. The sizes alternate, so that recordings share
  // memory.
  return train(model, test_devices(devices), options, make_batches({12, 9, 12, 9, 12, 9}, 77));
}

void expect_same_bits(const std::function<std::shared_ptr<Model>()>& create, int devices,
                      const TrainerOptions& options) {
  const Trained in_turn = train_with(kNone, create(), devices, options);
  for (int i = 0; i < 3; ++i)  // GPUs in software draw another order each time
    EXPECT_EQ(in_turn, train_with(kAll, create(), devices, options)) << devices << " devices";
}

TEST(Beside, GivesTheSameBits) {
  for (const auto& create : {conv_net, batch_norm_net, dropout_net}) expect_same_bits(create, 1, momentum_options());
}

TEST(Beside, GivesTheSameBitsOnSeveralDevices) {
  for (int devices : {2, 3}) expect_same_bits(batch_norm_net, devices, momentum_options());
}

TEST(Beside, GivesTheSameBitsIn16BitsWithRecomputeAndMicroBatches) {
  TrainerOptions options = momentum_options();
  options.compute = DType::bf16;
  expect_same_bits(batch_norm_net, 1, options);
  options.recompute.segments = 2;
  options.micro_batches = 2;
  expect_same_bits(batch_norm_net, 1, options);
  expect_same_bits(conv_net, 2, options);
}

// Communication between ranks separates the groups of launches that are recorded together.
TEST(Beside, GivesTheSameBitsWhereRanksExchangeMore) {
  TrainerOptions synced = momentum_options();
  synced.syncs_statistics = true;
  expect_same_bits(batch_norm_net, 2, synced);
  TrainerOptions by_layer = momentum_options();
  by_layer.mesh = {1, 2, 1};
  by_layer.micro_batches = 3;
  expect_same_bits(batch_norm_net, 2, by_layer);
  TrainerOptions by_channel = momentum_options();
  by_channel.mesh = {1, 1, 2};
  expect_same_bits(conv_net, 2, by_channel);
}

TEST(Beside, RunsThoseThatAreLongEnoughOnDevicesThatRecord) {
  TrainerOptions options = momentum_options();
  for (double least : {kAll, kNone}) {
    options.least_beside = least;
    Trainer trainer(test_context(), conv_net(), test_devices(1), options);
    StepResult result;
    trainer.step(make_batches(1, 8)[0], result);
    bool any = false;
    for (const Launch& launch : trainer.ranks().at(0).current_plan().launches) any = any || launch.is_beside;
    EXPECT_EQ(any, least == kAll && !is_on_cpu());
  }
}

}  // namespace
}  // namespace troika
