// Tensor maps in software, for copies of boxes: the meaning of the bytes of a CUtensorMap.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

namespace emulated_gpu {

struct TensorMap {
  static constexpr int kMostAxes = 4;
  std::byte* address = nullptr;
  // The first axis is the fastest. Strides are in bytes.
  int64_t sizes[kMostAxes] = {}, strides[kMostAxes] = {};
  int32_t box[kMostAxes] = {};
  int32_t rank = 0;

  int64_t box_elements() const;
  // Returns the address of element `i` of the box at these coordinates; null if it is outside of
  // the tensor.
  void* element(const std::vector<int>& coordinates, int64_t i) const;
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

// As cuTensorMapEncodeTiled, for bf16 in swizzled rows of 128 bytes.
CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                           const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace emulated_gpu
