// A Feistel network over Philox with cycle walking.
#include "core/sampler.h"

#include <bit>

#include "core/random.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr uint64_t kRounds = 6;  // each mixes both halves

uint64_t low_bits_of(uint64_t x, int bits) { return x & ((uint64_t{1} << bits) - 1); }

// Returns 64 bits for a key, a round's number and one half of a position.
uint64_t mix(uint64_t key, uint64_t round, uint64_t half) {
  const auto bits = philox(key, half, round);
  return uint64_t{bits[1]} << 32 | bits[0];
}

}  // namespace

std::string name_of(const SampleOrder& order) {
  std::string words = order.seed ? text("shuffled with seed ", *order.seed) : "in the dataset's order";
  if (order.weights) words = text("drawn by weights ", *order.weights, " with seed ", order.seed.value_or(0));
  return order.augmentation ? text(words, ", with augmentation ", *order.augmentation) : words;
}

uint64_t Sampler::key_of(uint64_t seed, int64_t epoch) {
  return mix(seed, hash_name("shuffle"), static_cast<uint64_t>(epoch));
}

Sampler::Sampler(int64_t n, uint64_t key) : n_(n), shuffles_(n > 1), key_(key) {
  const int bits = n > 1 ? static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1))) : 0;
  low_bits_ = (bits + 1) / 2;
  high_bits_ = bits / 2;
}

int64_t Sampler::index_of(int64_t position) const {
  if (!shuffles_) return position;
  // `permute` is a permutation of the power of two. So following it from a position below n comes
  // back below n, and two positions never meet. This takes less than two steps on average.
  uint64_t x = static_cast<uint64_t>(position);
  do x = permute(x);
  while (x >= static_cast<uint64_t>(n_));
  return static_cast<int64_t>(x);
}

// Each half is changed by a function of the other half only. So each round can be undone, for any
// function.
uint64_t Sampler::permute(uint64_t x) const {
  uint64_t low = low_bits_of(x, low_bits_), high = x >> low_bits_;
  for (uint64_t round = 0; round < kRounds; ++round) {
    low ^= low_bits_of(mix(key_, 2 * round, high), low_bits_);
    high ^= low_bits_of(mix(key_, 2 * round + 1, low), high_bits_);
  }
  return high << low_bits_ | low;
}

}  // namespace troika
