// Faults of kernels on GPUs in software, for tests.
#pragma once

#include <string>

namespace emulated_gpu {

// From now on, launches of the kernels whose names begin so lose their first block. Empty: none do.
void lose_blocks_of(const std::string& kernel);

}  // namespace emulated_gpu
