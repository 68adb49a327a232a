// Reading element types from text.
#include "core/dtype.h"

#include <vector>

#include "core/text.h"

namespace troika {

DType parse_dtype(std::string_view name) {
  std::vector<std::string_view> names;
  for (DType dtype : kAllDTypes) {
    if (name == name_of(dtype)) return dtype;
    names.push_back(name_of(dtype));
  }
  throw Error(Status::invalid_argument, text("dtype: found '", name, "', need one of ", join(names, ", ")));
}

}  // namespace troika
