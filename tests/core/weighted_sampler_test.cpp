// WeightedSampler: draws by weights, the same in every version.
#include "core/weighted_sampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/error.h"

namespace troika {
namespace {

std::vector<int64_t> draws(const WeightedSampler& sampler, uint64_t seed, int64_t epoch, int64_t n) {
  std::vector<int64_t> drawn;
  for (int64_t i = 0; i < n; ++i) drawn.push_back(sampler.index_of(WeightedSampler::key_of(seed, epoch), i));
  return drawn;
}

// Pearson's sum over the samples with a weight above 0.
double chi_square(const std::vector<double>& weights, const std::vector<int64_t>& drawn) {
  double total = 0, sum = 0;
  for (double weight : weights) total += weight;
  std::vector<double> counts(weights.size());
  for (int64_t sample : drawn) ++counts[static_cast<size_t>(sample)];
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = weights[i] / total * static_cast<double>(drawn.size());
    if (expected > 0) sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

// With 5 weights above 0, the sum has 4 degrees of freedom: it is above 18.5 once in 1,000 times.
TEST(WeightedSampler, draws_in_proportion_to_the_weights) {
  const std::vector<double> weights = {0, 1, 2.5, 0, 0.5, 4, 2, 0};
  for (const double scale : {1.0, 1e300, 1e-300}) {
    std::vector<double> scaled = weights;
    for (double& weight : scaled) weight *= scale;
    const WeightedSampler sampler(scaled);
    for (const uint64_t seed : {uint64_t{1}, uint64_t{99}, ~uint64_t{0}})
      EXPECT_LT(chi_square(weights, draws(sampler, seed, 3, 100000)), 18.5) << seed;
  }
}

// With 999 degrees of freedom, the sum is above 1143 once in 1,000 times.
TEST(WeightedSampler, draws_evenly_with_equal_weights) {
  const std::vector<double> weights(1000, 0.1);
  EXPECT_LT(chi_square(weights, draws(WeightedSampler(weights), 5, 0, 200000)), 1143);
}

TEST(WeightedSampler, never_draws_a_sample_of_weight_0) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> weights(1 + random() % 20);
    for (double& weight : weights) weight = random() % 3 == 0 ? static_cast<double>(random() % 1000) : 0.0;
    weights[random() % weights.size()] = 1e-9;
    const WeightedSampler sampler(weights);
    for (int64_t sample : draws(sampler, random(), round, 500)) ASSERT_GT(weights[static_cast<size_t>(sample)], 0);
  }
}

TEST(WeightedSampler, depends_on_seed_epoch_and_place_alone) {
  const std::vector<double> weights = {3, 1, 4, 1, 5, 9, 2, 6};
  const WeightedSampler a(weights), b(weights);
  EXPECT_EQ(draws(a, 7, 2, 100), draws(b, 7, 2, 100));
  EXPECT_NE(draws(a, 7, 2, 100), draws(a, 7, 3, 100));
  EXPECT_NE(draws(a, 7, 2, 100), draws(a, 8, 2, 100));
  EXPECT_NE(draws(a, 7, 3, 100), draws(a, 8, 2, 100)) << "seed + epoch is not the key";
  EXPECT_EQ(a.index_of(WeightedSampler::key_of(7, 2), 99), draws(a, 7, 2, 100).back());
}

// Training states hold the digest, and runs resume with the draws.
TEST(WeightedSampler, draws_what_version_1_0_drew) {
  const WeightedSampler sampler({3, 1, 4, 1, 5, 9, 2, 6});
  EXPECT_EQ(draws(sampler, 7, 2, 12), (std::vector<int64_t>{6, 5, 4, 4, 4, 5, 5, 4, 5, 5, 2, 4}));
  EXPECT_EQ(draws(sampler, ~uint64_t{0}, 1000000, 4), (std::vector<int64_t>{1, 7, 0, 0}));
  EXPECT_EQ(sampler.digest(), 7501182059689470739u);
}

TEST(WeightedSampler, has_a_digest_of_its_weights) {
  const std::vector<double> weights = {1, 2, 3};
  EXPECT_EQ(WeightedSampler(weights).digest(), WeightedSampler(weights).digest());
  EXPECT_NE(WeightedSampler(weights).digest(), WeightedSampler({2, 1, 3}).digest());
  EXPECT_NE(WeightedSampler(weights).digest(), WeightedSampler({1, 2, 3, 0}).digest());
  EXPECT_EQ(WeightedSampler({0.0, 1}).digest(), WeightedSampler({-0.0, 1}).digest());
}

TEST(WeightedSampler, refuses_what_is_no_weight) {
  for (const double wrong : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(WeightedSampler({1, wrong, 2}), Error);
  EXPECT_THROW(WeightedSampler({0, 0}), Error);
  EXPECT_THROW(WeightedSampler(std::vector<double>{}), Error);
}

}  // namespace
}  // namespace troika
