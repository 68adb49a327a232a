// Element types and their sizes and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace troika {

// Values are those of the public TROIKA_F32 and so on.
enum class DType : int32_t { f32 = 1, f64 = 2, i32 = 3, i64 = 4, u8 = 5 };

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f64:
    case DType::i64: return 8;
    case DType::u8: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::u8: return "u8";
  }
  return "unknown";
}

// Reads "f32" and so on.
DType parse_dtype(std::string_view name);

}  // namespace troika
