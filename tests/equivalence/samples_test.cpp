// An epoch computes the same as its batches one by one, for datasets in the memory of GPUs and for
// datasets on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/text.h"
#include "data/callback_dataset.h"
#include "data/combined_dataset.h"
#include "data/idx_dataset.h"
#include "equivalence/runs.h"

namespace troika {
namespace {

constexpr int64_t kSamples = 37, kBatch = 8, kClasses = 5;  // the last batch has 5

std::shared_ptr<const Dataset> bytes_dataset() {
  IdxArray images{{kSamples, 8, 7}, {}}, labels{{kSamples}, {}};
  for (int64_t i = 0; i < kSamples * 56; ++i) images.elements.push_back(static_cast<uint8_t>(i * 37 % 251));
  for (int64_t i = 0; i < kSamples; ++i) labels.elements.push_back(static_cast<uint8_t>(i * 3 % kClasses));
  return create_idx(std::move(images), std::move(labels), ImageTransform{0.3, 0.4});
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

// Bytes in the host's memory, with labels of 64 bits.
std::shared_ptr<const Dataset> borrowed_dataset() {
  static const std::vector<uint8_t> bytes = [] {
    std::vector<uint8_t> made;
    for (int64_t i = 0; i < kSamples * 56; ++i) made.push_back(static_cast<uint8_t>(i * 41 % 255));
    return made;
  }();
  static const std::vector<int64_t> labels = [] {
    std::vector<int64_t> made;
    for (int64_t i = 0; i < kSamples; ++i) made.push_back(i * 4 % kClasses);
    return made;
  }();
  HostArrays arrays;
  arrays.shape = {1, 8, 7};
  arrays.n = kSamples;
  arrays.dtype = DType::u8;
  arrays.inputs = bytes.data();
  arrays.target_dtype = DType::i64;
  arrays.targets = labels.data();
  arrays.target_size = 1;
  arrays.mean = 0.2;
  arrays.std = 0.5;
  return std::make_shared<const ArrayDataset>(std::move(arrays));
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

TEST_F(Samples, OfBorrowedArraysAndOfCombinationsGiveTheSameBits) {
  const auto borrowed = borrowed_dataset(), bytes = bytes_dataset();
  check(borrowed, true, 2, momentum_options(), "borrowed bytes");
  check(CombinedDataset::range(borrowed, 3, 30), true, 2, momentum_options(), "a range");
  check(CombinedDataset::subset(bytes, {36, 1, 1, 5, 9, 0, 22, 21, 20, 7, 8, 30, 4, 3, 3, 2, 11, 13}), true, 2,
        momentum_options(), "a subset");
  check(CombinedDataset::concat({bytes, borrowed, array_dataset(true)}), true, 1, momentum_options(), "three datasets");
}

// Predicts an epoch of the dataset. Returns whether the device kept the dataset, too.
std::pair<std::vector<float>, bool> predict(const std::shared_ptr<const Dataset>& dataset, const LoaderOptions& options,
                                            bool keeps_samples) {
  TrainerOptions settings = momentum_options();
  settings.keeps_samples = keeps_samples;
  Trainer trainer(test_context(), batch_norm_net(), test_devices(2), settings);
  Loader loader(dataset, options);
  const int64_t outputs = trainer.model()->output_shape().elements();
  std::vector<float> output(static_cast<size_t>(loader.samples() * outputs));
  int64_t samples = 0;
  EXPECT_TRUE(trainer.predict(loader, output.data(), loader.samples(), samples));
  EXPECT_EQ(samples, loader.samples());
  return {output, trainer.ranks().at(0).keeps_samples()};
}

TEST_F(Samples, ArePredictedWithTheSameBitsFromTheDeviceAndFromTheHost) {
  HostArrays arrays;
  arrays.shape = {1, 8, 7};
  arrays.n = kSamples;
  const std::vector<float> numbers(kSamples * 56, 0.25f);
  arrays.inputs = numbers.data();
  for (const auto& dataset : {borrowed_dataset(), array_dataset(true), array_dataset(false),
                              std::shared_ptr<const Dataset>(std::make_shared<const ArrayDataset>(arrays))})
    for (const bool shuffle : {false, true}) {
      const auto [kept, is_kept] = predict(dataset, options_of(shuffle), true);
      EXPECT_EQ(is_kept, !is_on_cpu());
      EXPECT_EQ(predict(dataset, options_of(shuffle), false), std::pair(kept, false));
    }
}

TEST_F(Samples, OfCallbacksOfDrawsByWeightsAndAugmentedOnesStayOnTheHost) {
  const auto arrays = borrowed_dataset();
  const auto callback =
      std::make_shared<const CallbackDataset>(arrays->form(), kSamples, [&](const ReadRequest& request) {
        arrays->read(request.indices, request.n, request.inputs, request.labels, request.values);
        return request.n;
      });
  const auto mixed = CombinedDataset::concat({arrays, callback});
  LoaderOptions weighted = options_of(false), augmented = options_of(true);
  weighted.weights.assign(kSamples, 1.0);
  augmented.flip = true;
  for (const auto& [dataset, options] :
       {std::pair<std::shared_ptr<const Dataset>, LoaderOptions>{callback, options_of(true)},
        {mixed, options_of(true)},
        {arrays, weighted},
        {arrays, augmented}}) {
    Trainer trainer(test_context(), batch_norm_net(), test_devices(2), momentum_options());
    Loader loader(dataset, options);
    Metrics metrics;
    EXPECT_TRUE(trainer.train_epoch(loader, metrics));
    EXPECT_TRUE(trainer.evaluate(loader, nullptr, metrics));
    EXPECT_FALSE(trainer.ranks().at(0).keeps_samples());
  }
  EXPECT_EQ(predict(callback, options_of(true), true).first, predict(arrays, options_of(true), true).first);
}

// The devices may keep the samples for another loader. Each epoch has augmented samples of its own.
TEST_F(Samples, OfAnAugmentedLoaderComeFromTheHostInEveryEpoch) {
  const auto dataset = bytes_dataset();
  LoaderOptions augmented = options_of(true);
  augmented.flip = true;
  augmented.crop = 2;
  Named parameters;
  for (const bool by_batch : {false, true}) {
    Trainer trainer(test_context(), batch_norm_net(), test_devices(2), momentum_options());
    Loader plain(dataset, options_of(true)), loader(dataset, augmented);
    Metrics metrics;
    EXPECT_TRUE(trainer.evaluate(plain, nullptr, metrics));
    EXPECT_EQ(trainer.ranks().at(0).keeps_samples(), !is_on_cpu());
    for (int epoch = 0; epoch < 3; ++epoch) {
      if (!by_batch) {
        EXPECT_TRUE(trainer.train_epoch(loader, metrics));
        continue;
      }
      StepResult result;
      while (const Batch* batch = loader.next()) EXPECT_TRUE(trainer.step(*batch, result));
    }
    if (by_batch)
      EXPECT_TRUE(look_at(trainer).parameters == parameters);
    else
      parameters = look_at(trainer).parameters;
  }
}

// A stream of a dataset's samples. At sample `at`, the first call meets the fault.
std::shared_ptr<const Dataset> stream_of(const std::shared_ptr<const Dataset>& dataset, int64_t at,
                                         std::function<void()> fault) {
  auto has_failed = std::make_shared<bool>(false);
  return std::make_shared<const CallbackDataset>(dataset->form(), kStream, [=](const ReadRequest& request) {
    const int64_t first = request.place.first, n = std::clamp<int64_t>(dataset->size() - first, 0, request.n);
    if (!*has_failed && first <= at && at < first + n) {
      *has_failed = true;
      fault();
    }
    std::vector<int64_t> indices(static_cast<size_t>(n));
    std::iota(indices.begin(), indices.end(), first);
    dataset->read(indices.data(), n, request.inputs, request.labels, request.values);
    return n;
  });
}

// Devices may run a step ahead when the host fails or stops. That step counts.
TEST_F(Samples, OfAStreamGoOnAfterAFaultWithTheSameBits) {
  const auto dataset = array_dataset(true);
  Trainer whole(test_context(), batch_norm_net(), test_devices(2), momentum_options());
  Loader oracle(dataset, options_of(false));
  Metrics metrics;
  EXPECT_TRUE(whole.train_epoch(oracle, metrics));
  for (const bool stops : {false, true}) {
    Trainer trainer(test_context(), batch_norm_net(), test_devices(2), momentum_options());
    Loader loader(stream_of(dataset, 2 * kBatch + 3,
                            [stops] {
                              if (stops) throw Stopped();
                              throw Error(Status::callback, "the disk is gone");
                            }),
                  options_of(false));
    int told = 0;
    trainer.set_progress([&](const Progress&) { return ++told > 0; });
    if (stops) {
      EXPECT_FALSE(trainer.train_epoch(loader, metrics));
      EXPECT_EQ(metrics.samples, 2 * kBatch);
      EXPECT_EQ(told, 2);
    } else {
      EXPECT_THROW(trainer.train_epoch(loader, metrics), Error);
    }
    EXPECT_EQ(loader.tell().batch, 2);
    EXPECT_EQ(trainer.training_state().position.step, 2);
    EXPECT_TRUE(trainer.train_epoch(loader, metrics));
    EXPECT_EQ(metrics.samples, kSamples - 2 * kBatch);
    EXPECT_TRUE(look_at(trainer).parameters == look_at(whole).parameters) << stops;
  }
}

// A progress callback that throws ends the call after the steps that have started.
TEST_F(Samples, GoOnAfterAnExceptionOfTheProgressWithTheSameBits) {
  const auto dataset = array_dataset(true);
  Trainer whole(test_context(), batch_norm_net(), test_devices(1), momentum_options());
  Trainer trainer(test_context(), batch_norm_net(), test_devices(1), momentum_options());
  Loader oracle(dataset, options_of(true)), loader(dataset, options_of(true));
  Metrics metrics;
  EXPECT_TRUE(whole.train_epoch(oracle, metrics));
  trainer.set_progress([](const Progress& progress) {
    if (progress.batch == 2) throw Error(Status::callback, "the window was closed");
    return true;
  });
  EXPECT_THROW(trainer.train_epoch(loader, metrics), Error);
  trainer.set_progress(nullptr);
  EXPECT_EQ(loader.tell().batch, trainer.training_state().position.step);
  EXPECT_TRUE(trainer.train_epoch(loader, metrics));
  EXPECT_TRUE(look_at(trainer).parameters == look_at(whole).parameters);
  EXPECT_TRUE(look_at(trainer).slots == look_at(whole).slots);
}

}  // namespace
}  // namespace troika
