// Sums of squares in double, by one thread.
#pragma once

#include <cstdint>

namespace troika::cpu {

// Adds in 16 lanes, so that every instruction set adds in the same order: the bits do not depend on
// the CPU. (The square of a float is exact in double, and so is a fused multiply-add of such
// squares.)
double square_sum(const float* v, int64_t n);

}  // namespace troika::cpu
