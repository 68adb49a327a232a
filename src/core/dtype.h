// Element types and their sizes and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace troika {

// Values are those of the public TROIKA_DTYPE_F32 and so on.
enum class DType : int32_t {
  f32 = 1,
  f64 = 2,
  i32 = 3,
  i64 = 4,
  u8 = 5,
  bf16 = 6,
  f16 = 7,
  // No op computes with these.
  i8 = 8,
  i16 = 9,
  boolean = 10,
  f8_e4m3 = 11,
  f8_e5m2 = 12
};

constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64,     DType::u8,      DType::bf16,
                                DType::f16, DType::i8,  DType::i16, DType::boolean, DType::f8_e4m3, DType::f8_e5m2};

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f64:
    case DType::i64: return 8;
    case DType::u8:
    case DType::i8:
    case DType::boolean:
    case DType::f8_e4m3:
    case DType::f8_e5m2: return 1;
    case DType::bf16:
    case DType::f16:
    case DType::i16: return 2;
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
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::boolean: return "bool";
    case DType::f8_e4m3: return "f8_e4m3";
    case DType::f8_e5m2: return "f8_e5m2";
  }
  return "unknown";
}

// Types in which layers compute. Sums, statistics, losses and parameters stay f32.
constexpr bool is_compute_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

// Types between which ops cast. Training casts between those in which layers compute.
constexpr bool is_castable(DType dtype) {
  return is_compute_dtype(dtype) || dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8;
}

// Reads "f32", "f64" ...
DType parse_dtype(std::string_view name);

}  // namespace troika
