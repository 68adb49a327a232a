// The order of samples in an epoch, as a pure function of (seed, epoch): nothing is stored, and
// nothing is replayed on resume.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troika {

// All that an order of samples, and their augmentation, depend on, apart from the number of samples
// and the epoch.
struct SampleOrder {
  std::optional<uint64_t> seed;          // none: the dataset's order
  std::optional<uint64_t> weights;       // a digest of the weights, if samples are drawn by weights
  std::optional<uint64_t> augmentation;  // a digest of what the loader does with samples at random, if anything
  bool operator==(const SampleOrder&) const = default;
};

// Returns the order in words, such as "shuffled with seed 3": other words for another order.
std::string name_of(const SampleOrder& order);

class Sampler {
 public:
  // The dataset's own order of `n` samples.
  explicit Sampler(int64_t n) : n_(n) {}
  // The permutation of `n` samples for (seed, epoch), the same on every machine and in every
  // version.
  Sampler(int64_t n, uint64_t seed, int64_t epoch) : Sampler(n, key_of(seed, epoch)) {}
  // The same, by the key of (seed, epoch).
  Sampler(int64_t n, uint64_t key);
  static uint64_t key_of(uint64_t seed, int64_t epoch);

  // The sample at `position`, 0 to n - 1.
  int64_t index_of(int64_t position) const;

 private:
  uint64_t permute(uint64_t x) const;

  int64_t n_;
  bool shuffles_ = false;
  uint64_t key_ = 0;
  int low_bits_ = 0;  // the domain is 2^(low_bits + high_bits), the smallest power of two that holds n
  int high_bits_ = 0;
};

}  // namespace troika
