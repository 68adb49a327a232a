// An epoch computes the same as its batches one by one, for datasets in the memory of GPUs and for
// datasets on the host.
#include <gtest/gtest.h>

#include "core/text.h"
#include "data/idx_dataset.h"
#include "equivalence/runs.h"

namespace troika {
namespace {

constexpr int64_t kSamples = 37, kBatch = 8, kClasses = 5;  // the last batch has 5

std::shared_ptr<const Dataset> bytes_dataset() {
  IdxArray images{{kSamples, 8, 7}, {}}, labels{{kSamples}, {}};
  for (int64_t i = 0; i < kSamples * 56; ++i) images.elements.push_back(static_cast<uint8_t>(i * 37 % 251));
  for (int64_t i = 0; i < kSamples; ++i) labels.elements.push_back(static_cast<uint8_t>(i * 3 % kClasses));
  return std::make_shared<const IdxDataset>(std::move(images), std::move(labels), ImageTransform{0.3, 0.4});
}

std::shared_ptr<const Dataset> array_dataset(bool has_labels) {
  std::vector<float> inputs, values;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < kSamples * 56; ++i) inputs.push_back(static_cast<float>(i * 29 % 97) / 40 - 1.2f);
  for (int64_t i = 0; i < kSamples; ++i) labels.push_back(static_cast<int32_t>(i * 2 % kClasses));
  for (int64_t i = 0; i < kSamples * kClasses; ++i) values.push_back(static_cast<float>(i % 11) / 5 - 1);
  if (has_labels) return std::make_shared<const ArrayDataset>(Shape{1, 8, 7}, std::move(inputs), std::move(labels));
  return std::make_shared<const ArrayDataset>(Shape{1, 8, 7}, std::move(inputs), std::move(values), kClasses);
}

LoaderOptions options_of(bool shuffle) {
  LoaderOptions options;
  options.batch = kBatch;
  options.shuffle = shuffle;
  options.seed = 12;
  return options;
}

struct Epochs {
  std::vector<double> losses;
  Named parameters, buffers, slots;
  bool operator==(const Epochs&) const = default;

  void hold(const Trained& trained) {
    parameters = trained.parameters;
    buffers = trained.buffers;
    slots = trained.slots;
  }
};

// Trains two epochs, the second in two calls, and evaluates.
Epochs train_epochs(const std::shared_ptr<const Dataset>& dataset, bool shuffle, int devices,
                    const TrainerOptions& options) {
  Trainer trainer(test_context(), batch_norm_net(), test_devices(devices), options);
  Loader loader(dataset, options_of(shuffle)), test(dataset, options_of(shuffle));
  Epochs epochs;
  auto note = [&](const Metrics& metrics) {
    epochs.losses.push_back(metrics.loss * static_cast<double>(metrics.samples));
    epochs.losses.push_back(static_cast<double>(metrics.correct));
  };
  Metrics metrics;
  EXPECT_TRUE(trainer.train_epoch(loader, metrics));
  note(metrics);
  EXPECT_TRUE(trainer.evaluate(test, nullptr, metrics));
  note(metrics);
  loader.seek({1, 2, 0});
  EXPECT_TRUE(trainer.train_epoch(loader, metrics));
  note(metrics);
  EXPECT_EQ(trainer.ranks().at(0).keeps_samples(), !is_on_cpu() && options.keeps_samples);
  epochs.hold(look_at(trainer));
  return epochs;
}

// Does the same with one call per batch.
Epochs train_batches(const std::shared_ptr<const Dataset>& dataset, bool shuffle, int devices,
                     const TrainerOptions& options) {
  Trainer trainer(test_context(), batch_norm_net(), test_devices(devices), options);
  Loader loader(dataset, options_of(shuffle));
  Epochs epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    if (epoch == 1) loader.seek({1, 2, 0});
    while (const Batch* batch = loader.next()) {
      StepResult result;
      EXPECT_TRUE(trainer.step(*batch, result));
    }
  }
  epochs.hold(look_at(trainer));
  return epochs;
}

class Samples : public ::testing::Test {
 protected:
  void check(const std::shared_ptr<const Dataset>& dataset, bool shuffle, int devices, TrainerOptions options,
             const std::string& what) {
    const Epochs held = train_epochs(dataset, shuffle, devices, options);
    const Epochs stepped = train_batches(dataset, shuffle, devices, options);
    options.keeps_samples = false;
    EXPECT_TRUE(train_epochs(dataset, shuffle, devices, options) == held) << what;
    EXPECT_TRUE(stepped.parameters == held.parameters) << what;
    EXPECT_TRUE(stepped.buffers == held.buffers) << what;
    EXPECT_TRUE(stepped.slots == held.slots) << what;
  }
};

TEST_F(Samples, OfAnyDatasetGiveTheSameBitsFromTheDeviceAndFromTheHost) {
  for (bool shuffle : {false, true}) {
    check(bytes_dataset(), shuffle, 1, momentum_options(), text("bytes, shuffled ", shuffle));
    check(array_dataset(true), shuffle, 1, momentum_options(), text("arrays, shuffled ", shuffle));
  }
  TrainerOptions options = momentum_options();
  options.loss = Loss::mean_squared_error;
  check(array_dataset(false), true, 1, options, "values");
}

TEST_F(Samples, GiveTheSameBitsOnSeveralDevicesAndInMicroBatches) {
  check(bytes_dataset(), true, 3, momentum_options(), "three devices");
  TrainerOptions options = momentum_options();
  options.micro_batches = 3;
  check(bytes_dataset(), true, 2, options, "micro-batches");
}

TEST_F(Samples, GiveTheSameBitsWhereStagesShareTheirParts) {
  TrainerOptions options = momentum_options();
  options.micro_batches = 2;
  options.mesh = {1, 2, 1};
  check(bytes_dataset(), true, 2, options, "two stages");
  options.mesh = {1, 3, 1};
  check(bytes_dataset(), true, 3, options, "three, of which one reads no samples");
}

TEST_F(Samples, GiveTheSameBitsByChannelInShardsClippedAndNormalisedTogether) {
  TrainerOptions options = momentum_options();
  options.mesh = {1, 1, 2};
  check(bytes_dataset(), true, 2, options, "two channels' ranks");
  options = momentum_options();
  options.logical_shards = 4;
  check(bytes_dataset(), true, 2, options, "logical shards");
  options = momentum_options();
  options.conditioning.max_norm = 0.1;
  options.syncs_statistics = true;
  check(bytes_dataset(), true, 2, options, "clipped, SyncBatchNorm");
}

TEST_F(Samples, GiveTheSameBitsIn16Bits) {
  TrainerOptions options = momentum_options();
  options.compute = DType::f16;
  options.loss_scale = 1024;
  options.conditioning.is_scaled = true;
  check(bytes_dataset(), true, 1, options, "f16");
}

}  // namespace
}  // namespace troika
