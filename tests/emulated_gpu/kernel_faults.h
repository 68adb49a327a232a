// Faults of kernels on GPUs in software, for tests.
#pragma once

#include <atomic>
#include <string>

namespace emulated_gpu {

// From now on, launches of the kernels whose names begin so lose their first block. Those with more
// than 48 KiB of shared memory have no names, and lose it if the type of a parameter is named so.
// Empty: none do.
void lose_blocks_of(const std::string& kernel);

// The version of the code that cudaFuncGetAttributes() reports of each kernel from now on, such as
// 80; 90 at first.
void report_code_for(int version);
extern std::atomic<int> code_version;

}  // namespace emulated_gpu
