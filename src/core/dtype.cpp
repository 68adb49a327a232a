// Reading element types from text.
#include "core/dtype.h"

#include "core/text.h"

namespace troika {

DType parse_dtype(std::string_view name) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::bf16, DType::f16})
    if (name == name_of(dtype)) return dtype;
  throw Error(Status::invalid_argument,
              text("dtype: found '", name, "', need one of f32, f64, i32, i64, u8, bf16, f16"));
}

}  // namespace troika
