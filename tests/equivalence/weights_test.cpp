// Weights of classes and of samples: a sample with weight 2 counts as two, on any mesh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/text.h"
#include "data/combined_dataset.h"
#include "data/loader.h"
#include "data/weighted_dataset.h"
#include "equivalence/runs.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices
constexpr int64_t kClasses = 5, kPixels = 56;

TrainerOptions weighted_options() {
  TrainerOptions options = momentum_options();
  options.weighs_samples = true;
  return options;
}

// Returns the batch with weights from 0 to 3, of which at least one is not 0.
Batch with_weights(Batch batch, uint64_t seed) {
  std::mt19937_64 engine(seed);
  for (int64_t i = 0; i < batch.size(); ++i) batch.weights.push_back(static_cast<float>(engine() % 4));
  batch.weights[engine() % batch.weights.size()] = 2;
  return batch;
}

// Returns the batch with values in place of labels.
Batch with_values(Batch batch, uint64_t seed) {
  std::mt19937_64 engine(seed);
  batch.labels.clear();
  batch.label_size = 0;
  batch.value_size = kClasses;
  for (int64_t i = 0; i < batch.size() * kClasses; ++i)
    batch.values.push_back(static_cast<float>(engine() % 1000) / 1000);
  return batch;
}

// Returns each sample as often as its weight says.
Batch repeated(const Batch& batch) {
  Batch all;
  all.label_size = batch.label_size;
  all.value_size = batch.value_size;
  const auto copy = [](const auto& from, int64_t row, int64_t elements, auto& to) {
    if (!from.empty()) to.insert(to.end(), from.begin() + row * elements, from.begin() + (row + 1) * elements);
  };
  int64_t n = 0;
  for (int64_t row = 0; row < batch.size(); ++row)
    for (int copies = 0; copies < static_cast<int>(batch.weights[static_cast<size_t>(row)]); ++copies, ++n) {
      copy(batch.inputs, row, kPixels, all.inputs);
      copy(batch.labels, row, batch.label_size, all.labels);
      copy(batch.values, row, batch.value_size, all.values);
    }
  all.shape = batch.shape;
  all.shape[0] = n;
  return all;
}

std::vector<Batch> weighted_batches(Loss loss) {
  std::vector<Batch> batches;
  uint64_t seed = 40;
  for (const Batch& batch : make_batches({9, 4, 13})) {
    ++seed;
    batches.push_back(with_weights(loss == Loss::cross_entropy ? batch : with_values(batch, seed), seed));
  }
  return batches;
}

TEST(Weights, CountSamplesAsOftenAsTheySay) {
  for (Loss loss : {Loss::cross_entropy, Loss::mean_squared_error, Loss::mean_absolute_error, Loss::huber,
                    Loss::binary_cross_entropy}) {
    const std::vector<Batch> batches = weighted_batches(loss);
    std::vector<Batch> copies;
    for (const Batch& batch : batches) copies.push_back(repeated(batch));
    TrainerOptions options = momentum_options();
    options.loss = loss;
    Trained oracle = train(conv_net(), test_devices(1), options, copies);
    oracle.correct.clear();  // counts samples, whatever they weigh
    for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{2, 1, 1}, Mesh{3, 1, 1}, Mesh{1, 3, 1}, Mesh{1, 1, 2}, Mesh{2, 2, 2}})
      for (int64_t micro_batches : {1, 3}) {
        TrainerOptions weighted = weighted_options();
        weighted.loss = loss;
        weighted.mesh = mesh;
        weighted.micro_batches = micro_batches;
        Trained found = train(conv_net(), test_devices(devices_of(mesh)), weighted, batches);
        found.correct.clear();
        expect_near(oracle, found, kTolerance, text(name_of(loss), " on ", name_of(mesh), " in ", micro_batches));
      }
  }
}

TEST(Weights, CountWhatTheySayInASumToo) {
  const Batch batch = weighted_batches(Loss::cross_entropy)[0];
  TrainerOptions options = momentum_options(), weighted = weighted_options();
  options.reduction = weighted.reduction = Reduction::sum;
  const Trained oracle = train(conv_net(), test_devices(1), options, {repeated(batch)});
  const Trained found = train(conv_net(), test_devices(2), weighted, {batch});
  EXPECT_NEAR(oracle.losses[0], found.losses[0], kTolerance * oracle.losses[0]);
  expect_near(oracle.parameters, found.parameters, kTolerance, "parameter");
}

// Weights of classes are weights of the samples that have these labels.
TEST(Weights, OfClassesAreThoseOfTheirSamples) {
  const std::vector<float> of_classes = {0.5f, 2, 0, 1.25f, 3};
  for (const bool smooths : {false, true})
    for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{2, 2, 1}, Mesh{1, 1, 2}}) {
      TrainerOptions by_class = momentum_options(), by_sample = weighted_options();
      by_class.class_weights = of_classes;
      by_class.mesh = by_sample.mesh = mesh;
      by_class.micro_batches = by_sample.micro_batches = 2;
      if (smooths) by_class.labels = by_sample.labels = {4, 0.1};  // label 4 is ignored, so its weight is not read
      std::vector<Batch> batches = make_batches({9, 5}), weighted = batches;
      for (Batch& batch : weighted)
        for (const int32_t label : batch.labels) batch.weights.push_back(of_classes[static_cast<size_t>(label)]);
      const auto devices = test_devices(devices_of(mesh));
      const Trained expected = train(conv_net(), devices, by_sample, weighted);
      EXPECT_TRUE(expected == train(conv_net(), devices, by_class, batches)) << name_of(mesh);
      // Both together are multiplied.
      for (Batch& batch : batches) batch.weights.assign(batch.labels.size(), 1);
      by_class.weighs_samples = true;
      EXPECT_TRUE(expected == train(conv_net(), devices, by_class, batches)) << name_of(mesh);
      EXPECT_TRUE(expected == train_in_pieces(conv_net(), devices, by_class, batches)) << name_of(mesh);
    }
}

// The formula of torch.nn.CrossEntropyLoss(weight=...).
TEST(Weights, AreThoseOfPyTorchsFormula) {
  const Batch batch = make_batches(1, 17)[0];
  TrainerOptions options;
  options.class_weights = {0.5f, 2, 0.125f, 1.25f, 3};
  std::vector<float> logits;
  predict(Trainer(test_context(), conv_net(), test_devices(1), options), batch, logits);
  double losses = 0, weights = 0;
  for (size_t i = 0; i < batch.labels.size(); ++i) {
    const float* const row = logits.data() + i * kClasses;
    double sum = 0;
    for (int64_t c = 0; c < kClasses; ++c) sum += std::exp(static_cast<double>(row[c]));
    const auto label = static_cast<size_t>(batch.labels[i]);
    losses += static_cast<double>(options.class_weights[label]) * (std::log(sum) - static_cast<double>(row[label]));
    weights += static_cast<double>(options.class_weights[label]);
  }
  EXPECT_NEAR(train(conv_net(), test_devices(2), options, {batch}).losses[0], losses / weights, 1e-6);
}

TEST(Weights, MayBeOfLabelsPerPixel) {
  const auto net = [] {
    auto model = std::make_shared<Model>("image_net");
    const ValueId x = model->add_input("x", {1, 8, 7});
    return finished(model, add_conv2d(*model, "conv", x, {kClasses, square(3, 1, 1), 1, true}));
  };
  Batch batch = make_batches(1, 6)[0];
  batch.label_size = kPixels;
  batch.labels.clear();
  for (int64_t i = 0; i < batch.size() * kPixels; ++i) batch.labels.push_back(static_cast<int32_t>(i * i % kClasses));
  batch = with_weights(std::move(batch), 3);
  const Trained oracle = train(net(), test_devices(1), momentum_options(), {repeated(batch)});
  for (int devices : {1, 2, 4}) {
    const Trained found = train(net(), test_devices(devices), weighted_options(), {batch});
    EXPECT_NEAR(oracle.losses[0], found.losses[0], kTolerance);
    expect_near(oracle.parameters, found.parameters, kTolerance, text(devices, " devices"));
  }
}

TEST(Weights, OfZeroHaveNoLossAndNoGradient) {
  Batch batch = make_batches(1, 6)[0];
  batch.weights.assign(6, 0);
  TrainerOptions options = weighted_options();
  options.settings[Setting::weight_decay] = 0;
  const auto model = conv_net();
  const Named before = parameters_of(*model, false);
  const Trained found = train(model, test_devices(2), options, {batch});
  EXPECT_EQ(found.losses[0], 0);
  EXPECT_TRUE(before == found.parameters);
  EXPECT_EQ(found.correct[0],
            train(conv_net(), test_devices(1), momentum_options(), {make_batches(1, 6)[0]}).correct[0]);
}

TEST(Weights, ComputeInSixteenBits) {
  const std::vector<Batch> batches = weighted_batches(Loss::cross_entropy);
  const Trained exact = train(conv_net(), test_devices(1), weighted_options(), batches);
  for (const DType compute : {DType::bf16, DType::f16}) {
    TrainerOptions options = weighted_options();
    options.compute = compute;
    options.loss_scale = 64;
    options.conditioning.is_scaled = true;
    const Trained found = train(conv_net(), test_devices(2), options, batches);
    for (size_t i = 0; i < batches.size(); ++i) EXPECT_NEAR(exact.losses[i], found.losses[i], 0.02) << name_of(compute);
  }
}

// ---- datasets ----

std::shared_ptr<const Dataset> dataset_of(const Batch& batch) {
  return std::make_shared<const ArrayDataset>(Shape{1, 8, 7}, batch.inputs, batch.labels);
}

// An epoch computes the same as its batches, and its loss is the mean by weight over all of them.
TEST(Weights, OfDatasetsReachTheLoss) {
  const Batch first = with_weights(make_batches(1, 11)[0], 50), second = make_batches(1, 8, 6)[0];
  const auto weighted = std::make_shared<const WeightedDataset>(dataset_of(first), first.weights);
  std::vector<int64_t> even;
  for (int64_t i = 0; i < 11; i += 2) even.push_back(i);
  const auto all = CombinedDataset::concat({dataset_of(second), CombinedDataset::subset(weighted, even)});
  EXPECT_TRUE(all->form().is_weighted);
  for (int64_t i = 0; i < 14; ++i)
    EXPECT_EQ(all->weight_of(i), i < 8 ? 1 : first.weights[static_cast<size_t>(2 * (i - 8))]) << i;

  LoaderOptions options;
  options.batch = 4;
  options.shuffle = true;
  options.seed = 3;
  for (int devices : {1, 3}) {
    Trainer epochs(test_context(), conv_net(), test_devices(devices), weighted_options());
    Trainer steps(test_context(), conv_net(), test_devices(devices), weighted_options());
    Loader of_epochs(all, options), of_steps(all, options);
    for (int epoch = 0; epoch < 3; ++epoch) {
      Metrics metrics;
      EXPECT_TRUE(epochs.train_epoch(of_epochs, metrics));
      double losses = 0, weight = 0;
      while (const Batch* batch = of_steps.next()) {
        StepResult result;
        EXPECT_TRUE(steps.step(*batch, result));
        losses += result.loss * result.weight;
        for (const float one : batch->weights) weight += static_cast<double>(one);
      }
      EXPECT_DOUBLE_EQ(metrics.loss, losses / weight);
      EXPECT_EQ(metrics.labels, 14);
    }
    EXPECT_TRUE(look_at(epochs) == look_at(steps));
    Metrics metrics;
    Loader test(all, options);
    EXPECT_TRUE(epochs.evaluate(test, nullptr, metrics));
    double losses = 0, weight = 0;
    while (const Batch* batch = test.next()) {
      std::vector<float> logits;
      predict(epochs, *batch, logits);
      for (size_t i = 0; i < batch->labels.size(); ++i) {
        double sum = 0;
        for (size_t c = 0; c < kClasses; ++c) sum += std::exp(static_cast<double>(logits[i * kClasses + c]));
        const double own = static_cast<double>(logits[i * kClasses + static_cast<size_t>(batch->labels[i])]);
        losses += static_cast<double>(batch->weights[i]) * (std::log(sum) - own);
        weight += static_cast<double>(batch->weights[i]);
      }
    }
    EXPECT_NEAR(metrics.loss, losses / weight, 1e-5);
  }
}

}  // namespace
}  // namespace troika
