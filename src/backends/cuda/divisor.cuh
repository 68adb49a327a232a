// Division by a number that is known at the launch: two products in place of some twenty
// instructions.
#pragma once

#include <cstdint>

namespace troika::cuda {

class Divisor {
 public:
  Divisor() = default;
  // n: 1 or more.
  explicit Divisor(int n)
      : by_(static_cast<unsigned>(n)),
        factor_(n == 1 ? ~0u : static_cast<unsigned>((uint64_t{1} << 32) / static_cast<unsigned>(n))) {}

  __host__ __device__ int by() const { return static_cast<int>(by_); }
  // n: not negative. The factor is cut, and so the product may be 1 too small.
  __device__ int divide(int n) const {
    const unsigned all = static_cast<unsigned>(n), quotient = __umulhi(all, factor_);
    return static_cast<int>(quotient + (all - quotient * by_ >= by_ ? 1u : 0u));
  }

 private:
  unsigned by_ = 1, factor_ = ~0u;
};

}  // namespace troika::cuda
