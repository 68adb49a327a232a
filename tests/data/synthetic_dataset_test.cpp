// SyntheticDataset: never changes for a seed, is in range, and is learnable.
#include "data/synthetic_dataset.h"

#include <algorithm>
#include <cmath>

#include "data/data_helpers.h"

namespace troika {
namespace {

using namespace test;

TEST(SyntheticDataset, depends_on_seed_and_sample_alone) {
  const SyntheticDataset a({3, 5, 7}, 40, 4, 9), b({3, 5, 7}, 400, 4, 9), other({3, 5, 7}, 40, 4, 10);
  EXPECT_EQ(read_samples(a, {3, 39, 0}), read_samples(b, {3, 39, 0}));
  EXPECT_NE(read_samples(a, {3}).inputs, read_samples(other, {3}).inputs);
  EXPECT_EQ(read_samples(a, {39, 3}).inputs[0], read_samples(a, {39}).inputs[0]);
}

TEST(SyntheticDataset, gives_numbers_from_minus_1_to_1_that_fill_the_range) {
  const SyntheticDataset dataset({1000}, 200, 10, 1);
  const auto inputs = read_all(dataset).inputs;
  const auto [low, high] = std::minmax_element(inputs.begin(), inputs.end());
  EXPECT_GE(*low, -1.0f);
  EXPECT_LT(*high, 1.0f);
  EXPECT_LT(*low, -0.9f);
  EXPECT_GT(*high, 0.9f);
}

TEST(SyntheticDataset, gives_no_two_equal_samples) {
  const SyntheticDataset dataset({8}, 5000, 3, 0);
  const auto inputs = read_all(dataset).inputs;
  std::vector<std::vector<float>> samples;
  for (size_t i = 0; i < inputs.size(); i += 8) samples.emplace_back(inputs.begin() + i, inputs.begin() + i + 8);
  std::sort(samples.begin(), samples.end());
  EXPECT_EQ(std::adjacent_find(samples.begin(), samples.end()), samples.end());
}

// The nearest class mean of one half of the samples predicts the labels of the other half.
TEST(SyntheticDataset, lies_around_one_centre_for_each_label) {
  constexpr int64_t kClasses = 10, kElements = 784, kSamples = 400;
  const SyntheticDataset dataset({1, 28, 28}, kSamples, kClasses, 5);
  const Samples samples = read_all(dataset);
  std::vector<double> centres(kClasses * kElements);
  for (int64_t i = 0; i < kSamples / 2; ++i)
    for (int64_t e = 0; e < kElements; ++e)
      centres[samples.labels[i] * kElements + e] += samples.inputs[i * kElements + e] / (kSamples / 2.0 / kClasses);
  int right = 0;
  for (int64_t i = kSamples / 2; i < kSamples; ++i) {
    std::vector<double> distances(kClasses);
    for (int64_t c = 0; c < kClasses; ++c)
      for (int64_t e = 0; e < kElements; ++e)
        distances[c] += std::pow(samples.inputs[i * kElements + e] - centres[c * kElements + e], 2);
    right += std::min_element(distances.begin(), distances.end()) - distances.begin() == samples.labels[i];
  }
  EXPECT_EQ(right, kSamples / 2);
}

TEST(SyntheticDataset, deals_labels_in_turn) {
  const SyntheticDataset dataset({1}, 7, 3, 0);
  EXPECT_EQ(dataset.classes(), 3);
  EXPECT_EQ(read_all(dataset).labels, (std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(SyntheticDataset({1}, 2, 3, 0).classes(), 2) << "the largest label + 1";
}

TEST(SyntheticDataset, may_have_samples_larger_than_its_table) {
  const SyntheticDataset dataset({3, 300, 300}, 2, 2, 0);
  const auto inputs = read_all(dataset).inputs;
  EXPECT_EQ(inputs.size(), 2u * 270000);
  EXPECT_TRUE(std::all_of(inputs.begin(), inputs.end(), [](float x) { return x >= -1.0f && x < 1.0f; }));
}

TEST(SyntheticDataset, takes_no_memory_for_its_samples) {
  const SyntheticDataset dataset({1024, 1024}, int64_t{1} << 40, 1000, 0);
  EXPECT_EQ(read_samples(dataset, {(int64_t{1} << 40) - 1}).labels[0], ((int64_t{1} << 40) - 1) % 1000);
}

TEST(SyntheticDataset, refuses_no_classes) {
  EXPECT_REFUSED(SyntheticDataset({1}, 1, 0, 0), Status::invalid_argument, "classes is 0");
}

}  // namespace
}  // namespace troika
