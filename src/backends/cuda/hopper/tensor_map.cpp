// Tensor maps by the driver's function, which is found at run time.
#include "backends/cuda/hopper/tensor_map.h"

#include <cuda_runtime_api.h>

#include <array>

#include "backends/cuda/check.h"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kOldest = 12000;  // the version of the driver's interface
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, kOldest, cudaEnableDefault, &result),
        "driver function cuTensorMapEncodeTiled");
  if (!found) throw Error(Status::unsupported, "the NVIDIA driver has no function cuTensorMapEncodeTiled");
  return reinterpret_cast<Encode>(found);
}

}  // namespace

CUtensorMap map_of(const void* address, std::initializer_list<Axis> axes) {
  static const Encode encode = find_encode();
  constexpr size_t kMost = 4;
  std::array<cuuint64_t, kMost> sizes{}, strides{};
  std::array<cuuint32_t, kMost> box{}, steps{};
  size_t rank = 0;
  for (const Axis& axis : axes) {
    sizes[rank] = static_cast<cuuint64_t>(axis.size);
    strides[rank] = static_cast<cuuint64_t>(axis.stride_bytes);
    box[rank] = static_cast<cuuint32_t>(axis.box);
    steps[rank] = 1;
    ++rank;
  }
  CUtensorMap map;
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, static_cast<cuuint32_t>(rank), const_cast<void*>(address),
             sizes.data(), strides.data() + 1, box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error(Status::unsupported, text("cuTensorMapEncodeTiled: CUDA driver error ", static_cast<int>(result)));
  return map;
}

}  // namespace troika::cuda::hopper
