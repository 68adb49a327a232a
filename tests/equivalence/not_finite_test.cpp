// Steps with gradients that are not finite: skipped on every device, or seen by the caller.
#include <cmath>
#include <limits>

#include "core/text.h"
#include "equivalence/runs.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

TrainerOptions skipping() {
  TrainerOptions options = momentum_options();
  options.conditioning.skips_not_finite = true;
  return options;
}

// Trains on three batches, of which the second has `number` in its last sample. Expects the second
// step to change nothing.
void expect_one_skipped(const TrainerOptions& options, int devices, float number, const std::string& what) {
  auto batches = make_batches(3, 9, 40);
  batches[1].inputs.back() = number;
  Trainer trainer(test_context(), conv_net(), test_devices(devices), options);
  StepResult result;
  trainer.step(batches[0], result);
  EXPECT_FALSE(result.is_skipped) << what;
  const Trained before = look_at(trainer);
  trainer.step(batches[1], result, false);
  EXPECT_TRUE(result.is_skipped) << what;
  const Trained after = look_at(trainer);
  EXPECT_TRUE(before.parameters == after.parameters) << what;
  EXPECT_TRUE(before.slots == after.slots) << what;
  trainer.step(batches[2], result);
  EXPECT_FALSE(result.is_skipped) << what;
  EXPECT_EQ(result.step, 3) << what;
  EXPECT_TRUE(std::isfinite(result.loss)) << what;
  EXPECT_TRUE(look_at(trainer).parameters != after.parameters) << what;
}

TEST(NotFinite, StepsAreSkippedOnEveryMesh) {
  for (const Mesh& mesh : all_meshes()) {
    if (mesh.layer > 4 || mesh.channel > 4) continue;  // the net has 7 layers, and the first 4 channels
    TrainerOptions options = skipping();
    options.mesh = mesh;
    expect_one_skipped(options, devices_of(mesh), kNaN, name_of(mesh));
  }
}

TEST(NotFinite, StepsAreSkippedWithEveryOptionOfAStep) {
  const auto with = [](auto&& change) {
    TrainerOptions options = skipping();
    change(options);
    return options;
  };
  const std::pair<const char*, TrainerOptions> all[] = {
      {"bf16", with([](auto& o) { o.compute = DType::bf16; })},
      {"f16", with([](auto& o) { o.compute = DType::f16; })},
      {"scaled", with([](auto& o) { o.conditioning.is_scaled = true, o.loss_scale = 1024; })},
      {"clipped", with([](auto& o) { o.conditioning.max_norm = 0.7; })},
      {"micro-batches", with([](auto& o) { o.micro_batches = 2; })},
      {"shards", with([](auto& o) { o.logical_shards = 4; })},
      {"sharded optimizer", with([](auto& o) { o.shards_optimizer = true; })},
      {"compressed", with([](auto& o) { o.compresses_gradients = true; })},
      {"averages", with([](auto& o) { o.average_decay = 0.9; })},
      {"adam", with([](auto& o) { o.optimizer = all_optimizers()[1], o.settings = {{Setting::learning_rate, 0.01}}; })},
  };
  for (const auto& [name, options] : all)
    for (int devices : {1, 2})
      if (devices > 1 || !options.compresses_gradients)
        for (float number : {kNaN, kInfinity}) expect_one_skipped(options, devices, number, text(name, ' ', devices));
}

// One image of the batch has a number that is none. Channels that do not see the number go on.
TEST(NotFinite, RunningStatisticsStayFinite) {
  for (const float number : {kNaN, kInfinity})
    for (const int devices : {1, 2})
      for (const bool syncs : {false, true})
        for (const DType compute : {DType::f32, DType::bf16}) {
          TrainerOptions options = skipping();
          options.compute = compute;
          options.syncs_statistics = syncs;
          auto batches = make_batches(2, 8, 40);
          Trainer trainer(test_context(), batch_norm_net(), test_devices(devices), options);
          StepResult result;
          trainer.step(batches[0], result);
          const Named before = look_at(trainer).buffers;
          batches[1].inputs[3] = number;
          trainer.step(batches[1], result);
          EXPECT_TRUE(result.is_skipped);
          const Named after = look_at(trainer).buffers;
          for (const auto& [name, values] : after)
            for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << name;
          ASSERT_FALSE(after.empty());
          batches[1].inputs[3] = 0;
          trainer.step(batches[1], result);
          EXPECT_FALSE(result.is_skipped);
          EXPECT_FALSE(look_at(trainer).buffers == before) << "statistics are tracked again";
        }
}

TEST(NotFinite, TheCheckChangesNoBitOfOtherSteps) {
  const auto batches = make_batches({6, 5, 7}, 41);
  for (int n : {1, 3})
    EXPECT_TRUE(train(conv_net(), test_devices(n), momentum_options(), batches) ==
                train(conv_net(), test_devices(n), skipping(), batches));
}

TEST(NotFinite, StepsAreTakenWithoutTheOption) {
  auto batches = make_batches(1, 6, 42);
  batches[0].inputs[3] = kNaN;
  Trainer trainer(test_context(), conv_net(), test_devices(2), momentum_options());
  StepResult result;
  trainer.step(batches[0], result);
  EXPECT_FALSE(result.is_skipped);
  EXPECT_TRUE(std::isnan(result.loss));
}

TEST(NotFinite, TheOptionIsPartOfTheTrainingState) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  Trainer skips(test_context(), conv_net(), test_devices(1), skipping()),
      never(test_context(), conv_net(), test_devices(1), momentum_options());
  save_checkpoint(skips, path);
  EXPECT_THROWS(Status::mismatch, "skip_not_finite is '1', the trainer has none", load_checkpoint(never, path));
  save_checkpoint(never, path);
  EXPECT_THROWS(Status::mismatch, "has no skip_not_finite, the trainer has '1'", load_checkpoint(skips, path));
}

// A net whose outputs are no numbers is right about nothing, even if the label is the first class.
TEST(NotFinite, OutputsAreNeverCorrect) {
  for (int n : {1, 2}) {
    auto batches = make_batches(1, 12, 43);
    for (float& x : batches[0].inputs) x = kNaN;
    Trainer trainer(test_context(), conv_net(), test_devices(n), momentum_options());
    StepResult result;
    trainer.step(batches[0], result);
    EXPECT_TRUE(std::isnan(result.loss));
    EXPECT_EQ(result.correct, 0);
  }
}

}  // namespace
}  // namespace troika
