// Samples drawn by weights, with replacement, as a pure function of (seed, epoch).
#pragma once

#include <cstdint>
#include <vector>

namespace troika {

class WeightedSampler {
 public:
  // One weight per sample, at least 0, finite, and not all 0.
  explicit WeightedSampler(const std::vector<double>& weights);

  static uint64_t key_of(uint64_t seed, int64_t epoch);
  // The sample at `position` for the key of (seed, epoch): the same on every machine and in every
  // version.
  int64_t index_of(uint64_t key, int64_t position) const;
  // A number that differs if the weights differ.
  uint64_t digest() const { return digest_; }

 private:
  std::vector<double> sums_;  // of the weights up to each sample, as shares of the largest weight
  int64_t last_;              // the last sample with a weight above 0
  uint64_t digest_;
};

}  // namespace troika
