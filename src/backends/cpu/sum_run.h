// The sum of a run of numbers, in f32.
#pragma once

#include <cstdint>

namespace troika::cpu {

// Adds in 16 lanes, whatever the instruction set, and the lanes in pairs.
float sum_run(const float* x, int64_t n);

}  // namespace troika::cpu
