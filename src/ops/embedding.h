// Operands of embedding and of its gradient.
#pragma once

#include <cstddef>

namespace troika {

namespace embedding {
enum Input : size_t { tokens, weight, kInputs };
}
namespace embedding_gradient {
enum Input : size_t { tokens, dy, kInputs };
}

}  // namespace troika
