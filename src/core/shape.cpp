// Checked products and printing of shapes.
#include "core/shape.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace troika {

int64_t checked_elements(const Shape& shape, const std::string& what) {
  // Below 2^60 elements any size in bytes fits 64 bits.
  constexpr int64_t kMaxElements = int64_t{1} << 60;
  if (shape.rank() > kMaxRank)
    throw Error(Status::invalid_argument, text(what, ": rank is ", shape.rank(), ", the largest is ", kMaxRank));
  int64_t n = 1;  // a dimension of 0 counts as 1: strides and the shapes of parts are products of the others
  for (int64_t d : shape.dims()) {
    if (d < 0) throw Error(Status::invalid_argument, text(what, ": shape ", shape, " has a dimension below 0"));
    if (d != 0 && n > kMaxElements / d)
      throw Error(Status::invalid_argument, text(what, ": shape ", shape, " has too many elements"));
    n *= std::max(d, int64_t{1});
  }
  return shape.elements();
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << '[' << join(shape.dims(), ", ") << ']';
}

std::string to_string(const Shape& shape) { return text(shape); }

}  // namespace troika
