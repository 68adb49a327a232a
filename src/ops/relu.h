// Operands of relu_gradient.
#pragma once

#include <cstddef>

namespace troika {

namespace relu_gradient {
enum Input : size_t { y, dy };
}  // namespace relu_gradient

}  // namespace troika
