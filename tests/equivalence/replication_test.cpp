// Other work that replicas share, apart from the sum of gradients: sharded state of the optimizer,
// and compressed gradients.
#include <fstream>
#include <iterator>

#include "core/float16.h"
#include "core/split.h"
#include "core/text.h"
#include "equivalence/runs.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

TrainerOptions with_mesh(Mesh mesh, bool shards_optimizer) {
  TrainerOptions options = momentum_options();
  options.mesh = mesh;
  options.shards_optimizer = shards_optimizer;
  options.bucket_bytes = 1000;  // several buckets, with several parameters each
  options.deadline_ms = 60000;
  return options;
}

TEST(Replication, OfAShardedOptimizerGivesTheSameBits) {
  const auto batches = make_batches({16, 7, 3, 1, 31}, 51);
  for (const Mesh& mesh : {Mesh{2, 1, 1}, Mesh{3, 1, 1}, Mesh{8, 1, 1}, Mesh{2, 2, 1}, Mesh{2, 1, 2}})
    for (const auto& net : {conv_net, batch_norm_net}) {
      const auto devices = test_devices(devices_of(mesh));
      if (net == batch_norm_net && mesh.data == 8) continue;  // shards would have one sample
      EXPECT_EQ(train(net(), devices, with_mesh(mesh, false), batches),
                train(net(), devices, with_mesh(mesh, true), batches))
          << name_of(mesh);
    }
}

TEST(Replication, OfAShardedOptimizerGoesWithGroupsScalingAndClipping) {
  const auto batches = make_batches({16, 7, 3}, 52);
  for (bool is_clipped : {false, true}) {
    TrainerOptions whole = with_mesh({3, 1, 1}, false);
    whole.groups = {{"conv1.*", true},
                    {"fc.bias", false, {{Setting::learning_rate, 0.01}, {Setting::weight_decay, 0.0}}}};
    whole.conditioning.is_scaled = true;
    whole.loss_scale = 1024;
    whole.settings[Setting::nesterov] = 1;
    whole.conditioning.max_norm = is_clipped ? 0.5 : 0;
    TrainerOptions sharded = whole;
    sharded.shards_optimizer = true;
    EXPECT_EQ(train(conv_net(), test_devices(3), whole, batches), train(conv_net(), test_devices(3), sharded, batches));
  }
}

TEST(Replication, OfAShardedOptimizerHoldsItsStateOnce) {
  StepResult result;
  Trainer whole(test_context(), conv_net(), test_devices(1), momentum_options());
  whole.step(make_batches(1, 8)[0], result);
  const size_t bytes = whole.state().table_of(0).segment_bytes(Segment::optimizer);
  for (int n : {2, 3, 4}) {
    Trainer trainer(test_context(), conv_net(), test_devices(n), with_mesh({n, 1, 1}, true));
    trainer.step(make_batches(1, 8)[0], result);
    size_t sum = 0, most = 0;
    for (int share = 0; share < n; ++share) {
      const size_t own = trainer.state().table_of(0).segment_bytes(Segment::optimizer, share);
      sum += own;
      most = std::max(most, own);
    }
    EXPECT_EQ(sum, bytes) << n;
    EXPECT_LT(most, bytes) << n;
  }
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Replication, OfAShardedOptimizerSavesTheFileOfAWholeOneAndGoesOnFromIt) {
  const std::string path = testing::TempDir() + "sharded.safetensors", other = testing::TempDir() + "whole.safetensors";
  const auto batches = make_batches(6, 12, 53);
  StepResult result;
  {
    Trainer sharded(test_context(), conv_net(), test_devices(4), with_mesh({4, 1, 1}, true));
    Trainer whole(test_context(), conv_net(), test_devices(4), with_mesh({4, 1, 1}, false));
    for (int i = 0; i < 3; ++i) sharded.step(batches[static_cast<size_t>(i)], result);
    for (int i = 0; i < 3; ++i) whole.step(batches[static_cast<size_t>(i)], result);
    save_checkpoint(sharded, path);
    save_checkpoint(whole, other);
    EXPECT_EQ(read_file(path), read_file(other));
  }
  Trainer three(test_context(), conv_net(), test_devices(3), with_mesh({3, 1, 1}, true));
  load_checkpoint(three, path);
  for (size_t i = 3; i < batches.size(); ++i) three.step(batches[i], result);
  Trained found = look_at(three);
  const Trained one = train(conv_net(), test_devices(1), momentum_options(), batches);
  expect_near(one.parameters, found.parameters, 5e-6, "parameter");
  expect_near(one.slots, found.slots, 5e-6, "slots");
}

TEST(Replication, CompressesGradientsToBf16) {
  TrainerOptions plain;
  plain.reduction = Reduction::sum;
  plain.settings[Setting::learning_rate] = 1e-3;
  TrainerOptions compressed = plain;
  compressed.compresses_gradients = true;
  const Batch batch = make_batches(1, 13, 54)[0];
  for (int n : {2, 3}) {
    const Named exact = train(conv_net(), test_devices(n), plain, {batch}).gradients;
    const Trained found = train(conv_net(), test_devices(n), compressed, {batch});
    // The gradients of each device, rounded; below, their sum is rounded.
    Named sums;
    for (int rank = 0; rank < n; ++rank) {
      const Range range = balanced_split(batch.size(), n, rank);
      for (auto& [name, own] :
           train(conv_net(), test_devices(1), plain, {slice(batch, range.begin, range.end)}).gradients) {
        sums[name].resize(own.size());
        for (size_t i = 0; i < own.size(); ++i) sums[name][i] += float_of_bf16(bf16_of_float(own[i]));
      }
    }
    double error = 0;
    for (const auto& [name, values] : found.gradients) {
      for (float v : values) ASSERT_EQ(v, float_of_bf16(bf16_of_float(v))) << name;
      // Other threads may add in another order. This sometimes changes a rounding by a unit in the
      // last place, 2^-7.
      EXPECT_LE(difference(sums.at(name), values), 0x1p-7) << name;
      error = std::max(error, difference(exact.at(name), values));
    }
    // n roundings and one more, each by at most half a unit.
    EXPECT_LE(error, static_cast<double>(n + 1) * 0x1p-8) << n;
    EXPECT_GT(error, 0x1p-12) << n;  // gradients are rounded
  }
}

TEST(Replication, OfCompressedGradientsIsOffOnOneDevice) {
  TrainerOptions compressed = momentum_options();
  compressed.compresses_gradients = true;
  const auto batches = make_batches(2, 9, 55);
  EXPECT_EQ(train(conv_net(), test_devices(1), momentum_options(), batches),
            train(conv_net(), test_devices(1), compressed, batches));
  compressed.logical_shards = 2;
  EXPECT_THROWS(Status::invalid_argument, "gradient_compression is BF16 and logical_shards is 2",
                Trainer(test_context(), conv_net(), test_devices(2), compressed));
}

}  // namespace
}  // namespace troika
