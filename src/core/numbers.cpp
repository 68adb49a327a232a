// A loop per pair of types.
#include "core/numbers.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "core/float16.h"
#include "core/text.h"

namespace troika {
namespace {

// How an element is stored, and the arithmetic type of its number.
template <typename Number>
struct Plain {
  using Stored = Number;
  using Value = Number;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};
struct Bf16 {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored stored) { return float_of_bf16(stored); }
  static Stored store(Value value) { return bf16_of_float(value); }
};
struct F16 {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored stored) { return float_of_f16(stored); }
  static Stored store(Value value) { return f16_of_float(value); }
};
struct Bool {
  using Stored = uint8_t;
  using Value = bool;
  static Value load(Stored stored) { return stored != 0; }
  static Stored store(Value value) { return value ? 1 : 0; }
};

template <typename To, typename From>
To value_as(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    if (std::isnan(value)) return 0;
    // The upper bound may not be a floating-point number: it is rounded to the next one, which is
    // too large.
    if (value >= static_cast<From>(Limits::max())) return Limits::max();
    if (value <= static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(value);
  } else {
    const auto wide = static_cast<int64_t>(value);
    if (wide > static_cast<int64_t>(Limits::max())) return Limits::max();
    if (wide < static_cast<int64_t>(Limits::min())) return Limits::min();
    return static_cast<To>(wide);
  }
}

template <typename F>
void with_element(DType dtype, F f) {
  switch (dtype) {
    case DType::f32: return f(Plain<float>{});
    case DType::f64: return f(Plain<double>{});
    case DType::i8: return f(Plain<int8_t>{});
    case DType::i16: return f(Plain<int16_t>{});
    case DType::i32: return f(Plain<int32_t>{});
    case DType::i64: return f(Plain<int64_t>{});
    case DType::u8: return f(Plain<uint8_t>{});
    case DType::bf16: return f(Bf16{});
    case DType::f16: return f(F16{});
    case DType::boolean: return f(Bool{});
    default: throw Error(Status::unsupported, text("numbers of ", name_of(dtype), " cannot be converted"));
  }
}

}  // namespace

void convert_numbers(DType from, const void* source, DType to, void* target, int64_t n) {
  with_element(from, [&](auto from_element) {
    with_element(to, [&](auto to_element) {
      using From = decltype(from_element);
      using To = decltype(to_element);
      const auto* in = static_cast<const typename From::Stored*>(source);
      auto* out = static_cast<typename To::Stored*>(target);
      for (int64_t i = 0; i < n; ++i) {
        const auto value = From::load(in[i]);
        // f64 becomes bf16 or f16 by way of f32, as an f32 tensor would.
        out[i] = To::store(value_as<typename To::Value>(value));
      }
    });
  });
}

}  // namespace troika
