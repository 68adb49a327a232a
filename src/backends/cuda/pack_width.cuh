// The widest pack of neighbouring channels that divides a row of them.
#pragma once

#include <type_traits>

#include "backends/cuda/elements.cuh"

namespace troika::cuda {

// Calls f(std::integral_constant<int, N>{}) with N elements of 16 bytes together, else 2, else 1.
template <typename T, typename F>
auto with_pack(int64_t channels, F&& f) {
  if (channels % kPack<T> == 0) return f(std::integral_constant<int, kPack<T>>{});
  if (channels % 2 == 0) return f(std::integral_constant<int, 2>{});
  return f(std::integral_constant<int, 1>{});
}

}  // namespace troika::cuda
