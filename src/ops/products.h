// Operands of conv2d, linear and their gradients.
#pragma once

#include <cstddef>

namespace troika {

namespace product {
enum Input : size_t { x, weight, bias, kInputs };  // bias or none
}

// Operands of conv2d_input_gradient and linear_input_gradient.
namespace input_gradient {
enum Input : size_t { weight, dy, kInputs };
}
// Operands of conv2d_weight_gradient and linear_weight_gradient.
namespace weight_gradient {
enum Input : size_t { x, dy, kInputs };
enum Output : size_t { dweight, dbias };  // dbias if `bias`
}  // namespace weight_gradient

}  // namespace troika
