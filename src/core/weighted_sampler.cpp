// A search in the running sums of the weights.
#include "core/weighted_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace troika {

WeightedSampler::WeightedSampler(const std::vector<double>& weights) : last_(-1), digest_(hash_name("weights")) {
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      throw Error(Status::invalid_argument,
                  text("loader: weights[", i, "] is ", weights[i], ", need a finite number of at least 0"));
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0)
    throw Error(Status::invalid_argument,
                text("loader: its ", weights.size(), " weights are all 0, need one above 0 at least"));
  sums_.reserve(weights.size());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sums_.push_back(sum += weights[i] / largest);  // a sum of the weights themselves could overflow
    if (weights[i] > 0) last_ = static_cast<int64_t>(i);
    const auto bits = philox(digest_, std::bit_cast<uint64_t>(weights[i] + 0.0), i);
    digest_ = uint64_t{bits[1]} << 32 | bits[0];
  }
}

uint64_t WeightedSampler::key_of(uint64_t seed, int64_t epoch) {
  const auto bits = philox(seed, static_cast<uint64_t>(epoch), hash_name("draw"));
  return uint64_t{bits[1]} << 32 | bits[0];
}

int64_t WeightedSampler::index_of(uint64_t key, int64_t position) const {
  const auto bits = philox(key, static_cast<uint64_t>(position), 0);
  // The first sum above the drawn number is never that of a weight 0: the sum before it is equal.
  const auto found = std::upper_bound(sums_.begin(), sums_.end(), to_unit_double(bits[1], bits[0]) * sums_.back());
  return std::min<int64_t>(found - sums_.begin(), last_);
}

}  // namespace troika
