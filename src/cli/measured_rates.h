// The rates of large additions and products on a device, to compare launches with.
#pragma once

#include "cli/client.h"

namespace troika::cli {

struct MeasuredRates {
  double bytes_per_second = 0, operations_per_second = 0;
};

// Measures additions of large tensors, by the bytes that they read and write, and products of
// square matrices of that type, on random numbers. Takes about a second.
MeasuredRates measure_rates(const Context& context, troika_device device, int32_t dtype);

}  // namespace troika::cli
