// The seed of a program's random tests: TROIKA_TEST_SEED, or else new in each run. It is printed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace troika {

inline uint64_t test_seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("TROIKA_TEST_SEED");
    const uint64_t s = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::printf("TROIKA_TEST_SEED=%llu\n", static_cast<unsigned long long>(s));
    return s;
  }();
  return seed;
}

}  // namespace troika
