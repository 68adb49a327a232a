// A tensor as text.
#pragma once

#include <string>

#include "device/tensor.h"

namespace troika {

// Returns type, shape and device, and on the next lines the numbers, in brackets per axis. Each
// axis of a large tensor shows its first and last numbers.
std::string to_text(const Tensor& tensor);

}  // namespace troika
