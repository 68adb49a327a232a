// Host memory whose size depends on the model or the data. If there is none, the error names its
// purpose and size.
#pragma once

#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace troika {

// Resizes `values` to `n`. Throws OUT_OF_MEMORY naming `kind` and `name`: ("parameter",
// "fc.weight").
template <typename Element>
void resize_host(std::vector<Element>& values, size_t n, std::string_view kind, std::string_view name) {
  try {
    values.resize(n);
    return;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more than any memory could hold
  }
  throw Error(Status::out_of_memory,
              text("host memory: ", kind, " '", name, "' needs ", n * sizeof(Element), " bytes, which are not free"));
}

}  // namespace troika
