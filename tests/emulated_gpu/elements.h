// Conversion of elements in f32, bf16 and f16 to and from float, in which the stand-ins for
// NVIDIA's libraries compute.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/float16.h"

namespace emulated_gpu {

using troika::DType;

inline void load(DType dtype, const void* from, int64_t count, float* to) {
  if (dtype == DType::f32) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  const auto* bits = static_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < count; ++i)
    to[i] = dtype == DType::bf16 ? troika::float_of_bf16(bits[i]) : troika::float_of_f16(bits[i]);
}

// Rounds to nearest even.
inline void store(DType dtype, const float* from, int64_t count, void* to) {
  if (dtype == DType::f32) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  auto* bits = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; ++i)
    bits[i] = dtype == DType::bf16 ? troika::bf16_of_float(from[i]) : troika::f16_of_float(from[i]);
}

inline float rounded(DType dtype, float value) {
  if (dtype == DType::bf16) return troika::float_of_bf16(troika::bf16_of_float(value));
  return dtype == DType::f16 ? troika::float_of_f16(troika::f16_of_float(value)) : value;
}

// Rounds f32 as tensor cores do: to 10 bits of fraction, to nearest, halves away from 0.
inline void round_to_tf32(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]);
    if ((bits & 0x7f800000) != 0x7f800000) values[i] = std::bit_cast<float>((bits + 0x1000) & ~uint32_t{0x1fff});
  }
}

inline bool is_aligned(const void* p, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(alignment) == 0;
}

// A piece of memory that a call names.
struct Span {
  const void* begin;
  int64_t bytes;
};

inline bool overlap(const Span& a, const Span& b) {
  const auto of = [](const void* p) { return reinterpret_cast<uintptr_t>(p); };
  return a.bytes > 0 && b.bytes > 0 && of(a.begin) < of(b.begin) + static_cast<uintptr_t>(b.bytes) &&
         of(b.begin) < of(a.begin) + static_cast<uintptr_t>(a.bytes);
}

// Fills a workspace with NaN in every type, as a library may leave anything there. So a caller that
// keeps data in the workspace notices.
inline void fill_with_garbage(void* workspace, int64_t bytes) {
  if (bytes > 0) std::memset(workspace, 0xff, static_cast<size_t>(bytes));
}

}  // namespace emulated_gpu
