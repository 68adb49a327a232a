// The rates that a device reaches at most, as measured.
#pragma once

#include "cli/client.h"

namespace troika::cli {

struct Ceilings {
  double bytes_per_second = 0, operations_per_second = 0;
};

// Measures additions of large tensors, by the bytes that they read and write, and products of
// square matrices of that type, on random numbers. Takes about a second.
Ceilings measure_ceilings(const Context& context, troika_device device, int32_t dtype);

}  // namespace troika::cli
