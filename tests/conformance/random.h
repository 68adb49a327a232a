// Random numbers of a test run.
#pragma once

#include <cstdint>
#include <random>

#include "support/test_seed.h"

namespace troika {

class Random {
 public:
  // Each test has its own stream, so that its numbers are independent of other tests.
  explicit Random(uint64_t stream = 0) : engine_(test_seed() * 1000003 + stream) {}
  double normal() { return normal_(engine_); }
  int64_t integer(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }  // in [0, n)

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

}  // namespace troika
