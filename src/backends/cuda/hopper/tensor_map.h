// Descriptions of tensors for copies of boxes between them and shared memory.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <initializer_list>

namespace troika::cuda::hopper {

// One axis of a tensor of bf16, the fastest first. The elements of the first are neighbours.
struct Axis {
  int64_t size;
  int64_t stride_bytes;
  int64_t box;  // elements that a copy takes
};

// Boxes are stored in swizzled rows of 128 bytes: the first axis has a box of 64. Three or four
// axes; `address` is a multiple of 16.
CUtensorMap map_of(const void* address, std::initializer_list<Axis> axes);

}  // namespace troika::cuda::hopper
