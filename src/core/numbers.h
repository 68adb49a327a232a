// Numbers of one element type as numbers of another.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace troika {

// Whether convert_numbers knows the type.
constexpr bool is_number_dtype(DType dtype) { return dtype != DType::f8_e4m3 && dtype != DType::f8_e5m2; }

// Converts n numbers. Floating-point numbers are rounded to nearest even; to integers they are
// rounded towards 0, and saturate; NaN becomes 0. Integers saturate too. bool: whether not 0.
void convert_numbers(DType from, const void* source, DType to, void* target, int64_t n);

}  // namespace troika
