// The rules of cuTensorMapEncodeTiled, and addresses of elements.
#include "tensor_map.h"

#include <cstring>

namespace emulated_gpu {

int64_t TensorMap::box_elements() const {
  int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) elements *= box[axis];
  return elements;
}

void* TensorMap::element(const std::vector<int>& coordinates, int64_t i) const {
  int64_t offset = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t at = coordinates[static_cast<size_t>(axis)] + i % box[axis];
    i /= box[axis];
    if (at < 0 || at >= sizes[axis]) return nullptr;
    offset += at * strides[axis];
  }
  return address + offset;
}

CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                           const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  constexpr uint64_t kMostSize = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
  constexpr uint32_t kMostBox = 256, kRow = 64;
  if (type != CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || rank < 3 || rank > TensorMap::kMostAxes ||
      reinterpret_cast<uintptr_t>(map) % 64 || reinterpret_cast<uintptr_t>(address) % 16 ||
      interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle != CU_TENSOR_MAP_SWIZZLE_128B ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || box[0] != kRow)
    return CUDA_ERROR_INVALID_VALUE;
  TensorMap encoded;
  encoded.address = static_cast<std::byte*>(address);
  encoded.rank = static_cast<int32_t>(rank);
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const uint64_t stride = axis == 0 ? 2 : strides[axis - 1];
    if (sizes[axis] == 0 || sizes[axis] > kMostSize || box[axis] == 0 || box[axis] > kMostBox || steps[axis] != 1 ||
        (axis > 0 && (stride % 16 || stride >= kMostStride)))
      return CUDA_ERROR_INVALID_VALUE;
    encoded.sizes[axis] = static_cast<int64_t>(sizes[axis]);
    encoded.strides[axis] = static_cast<int64_t>(stride);
    encoded.box[axis] = static_cast<int32_t>(box[axis]);
  }
  std::memset(static_cast<void*>(map), 0, sizeof *map);
  std::memcpy(static_cast<void*>(map), &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

}  // namespace emulated_gpu
