// Operands of the losses cross_entropy and mean_squared_error, and of their gradients.
#pragma once

#include <cstddef>

namespace troika {

namespace loss {
enum Input : size_t { x, target, loss_scale };         // loss_scale or none
enum Output : size_t { sum, correct, probabilities };  // of mean_squared_error `sum` alone
}  // namespace loss

}  // namespace troika
