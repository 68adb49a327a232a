// SyncBatchNorm: several devices normalise their samples together, as one device normalises the
// whole batch.
#include <cmath>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-5;  // BatchNorm divides by deviations of few samples

TrainerOptions synchronized(Mesh mesh = {}, int64_t micro_batches = 1) {
  TrainerOptions options = momentum_options();
  options.syncs_statistics = true;
  options.mesh = mesh;
  options.micro_batches = micro_batches;
  options.deadline_ms = 60000;
  return options;
}

// Excludes the bias of conv2, which BatchNorm cancels: its gradient is only rounding.
Trained without_rounding(Trained run) {
  forget(run, "conv2.bias");
  return run;
}

Trained train_together(int devices, const TrainerOptions& options, const std::vector<Batch>& batches) {
  return without_rounding(train(batch_norm_net(), test_devices(devices), options, batches));
}

TEST(SyncBatchNorm, EqualsOneDeviceOnTheWholeBatch) {
  const auto batches = make_batches({16, 7, 3, 31, 5}, 41);  // uneven, and too few samples for all devices
  const Trained one = train_together(1, momentum_options(), batches);
  for (int n : {2, 3, 4, 8}) {
    const Trained found = train_together(n, synchronized(), batches);
    expect_near(one, found, kTolerance, text(n, " devices"));
    EXPECT_EQ(one.buffers.at("bn1.num_batches_tracked"), found.buffers.at("bn1.num_batches_tracked"));
  }
  const Trained apart = train_together(2, momentum_options(), batches);
  EXPECT_GT(difference(one.parameters.at("conv1.weight"), apart.parameters.at("conv1.weight")), 20 * kTolerance);
  EXPECT_GT(difference(one.buffers.at("bn1.running_var"), apart.buffers.at("bn1.running_var")), 20 * kTolerance);
}

TEST(SyncBatchNorm, OnOneDeviceChangesNoBit) {
  const auto batches = make_batches(3, 9, 42);
  EXPECT_EQ(train(batch_norm_net(), test_devices(1), momentum_options(), batches),
            train(batch_norm_net(), test_devices(1), synchronized(), batches));
}

TEST(SyncBatchNorm, WorksWithinEveryMesh) {
  const auto batches = make_batches({16, 7, 2}, 43);
  const Trained one = train_together(1, momentum_options(), batches);
  for (const Mesh& mesh : {Mesh{2, 2, 1}, Mesh{2, 1, 2}, Mesh{3, 2, 1}, Mesh{2, 2, 2}})
    expect_near(one, train_together(mesh.data * mesh.layer * mesh.channel, synchronized(mesh), batches), kTolerance,
                name_of(mesh));
}

// The i-th micro-batches of all devices are normalised together. On two devices, 16 samples are
// normalised as 0..3 with 8..11, and 4..7 with 12..15.
TEST(SyncBatchNorm, NormalisesMicroBatchesWithThoseAtTheirPlaceOnOtherDevices) {
  auto joined = [](const Batch& batch, const std::vector<std::pair<int64_t, int64_t>>& ranges) {
    Batch result = slice(batch, 0, 0);
    for (const auto& [begin, end] : ranges) {
      const Batch part = slice(batch, begin, end);
      result.inputs.insert(result.inputs.end(), part.inputs.begin(), part.inputs.end());
      result.labels.insert(result.labels.end(), part.labels.begin(), part.labels.end());
    }
    result.shape = batch.shape;
    return result;
  };
  std::vector<Batch> batches = make_batches(3, 16, 44), permuted;
  for (const Batch& batch : batches) permuted.push_back(joined(batch, {{0, 4}, {8, 12}, {4, 8}, {12, 16}}));
  TrainerOptions in_two = momentum_options();
  in_two.micro_batches = 2;
  const Trained one = train_together(1, in_two, permuted);
  for (const Mesh& mesh : {Mesh{2, 1, 1}, Mesh{2, 2, 1}, Mesh{2, 1, 2}})
    expect_near(one, train_together(mesh.data * mesh.layer * mesh.channel, synchronized(mesh, 2), batches), kTolerance,
                name_of(mesh));
}

TEST(SyncBatchNorm, GivesMicroBatchesWithoutSamplesTheirPlace) {
  // 5 samples on 4 devices in 2 micro-batches: {1, 1}, {1, 0}, {1, 0}, {1, 0}.
  // 2 samples: {1, 0}, {1, 0}, and two devices without samples.
  for (const Mesh& mesh : {Mesh{4, 1, 1}, Mesh{4, 2, 1}}) {
    Trainer trainer(test_context(), batch_norm_net(), test_devices(mesh.data * mesh.layer), synchronized(mesh, 2));
    double last = 0;
    for (const Batch& batch : make_batches({5, 2, 16, 5, 2}, 45)) {
      StepResult result;
      trainer.step(batch, result);
      EXPECT_TRUE(std::isfinite(result.loss)) << name_of(mesh);
      last = result.loss;
    }
    EXPECT_GT(last, 0);
    look_at(trainer);  // checks that replicas are the same
  }
}

TEST(SyncBatchNorm, ComputesInBf16) {
  TrainerOptions low = momentum_options(), many = synchronized();
  low.compute = many.compute = DType::bf16;
  const auto batches = make_batches({16, 7}, 46);
  expect_near(train_together(1, low, batches), train_together(3, many, batches), 0.08, "bf16");
}

TEST(SyncBatchNorm, WithRecomputeChangesNoBit) {
  const auto batches = make_batches({16, 7, 3}, 47);
  TrainerOptions again = synchronized();
  again.recompute.layers = {"*"};
  EXPECT_EQ(train_together(3, synchronized(), batches), train_together(3, again, batches));
}

TEST(SyncBatchNorm, NeedsTwoValuesOnAllDevicesTogether) {
  auto net = [] {
    auto model = std::make_shared<Model>("net");
    ValueId x = add_adaptive_avg_pool2d(*model, "pool", model->add_input("x", {1, 8, 7}), 1, 1);
    x = add_flatten(*model, "flatten", add_batch_norm2d(*model, "bn", x));
    model->set_output(add_linear(*model, "fc", x, 5, true));
    initialize_default(*model, 1, false);
    return model;
  };
  StepResult result;
  Trainer two(test_context(), net(), test_devices(2), synchronized());
  EXPECT_THROWS(Status::invalid_argument,
                "batch_norm2d 'bn': training needs more than 1 value a channel, all devices together have 1",
                two.step(make_batches(1, 1)[0], result));
  EXPECT_TRUE(two.step(make_batches(1, 2)[0], result));  // one sample per device
  Trainer one(test_context(), net(), test_devices(1), synchronized());
  EXPECT_THROWS(Status::invalid_argument, "training needs more than 1 value a channel",
                one.step(make_batches(1, 1)[0], result));
}

TEST(SyncBatchNorm, ExcludesLogicalShards) {
  TrainerOptions options = synchronized();
  options.logical_shards = 2;
  EXPECT_THROWS(Status::invalid_argument, "sync_batch_norm is 1 and logical_shards is 2, which normalise differently",
                Trainer(test_context(), batch_norm_net(), test_devices(2), options));
}

}  // namespace
}  // namespace troika
