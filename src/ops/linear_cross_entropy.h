// Operands of linear_cross_entropy.
#pragma once

#include "ops/losses.h"
#include "ops/products.h"

namespace troika {

namespace linear_cross_entropy {
// How far the inputs of the loss are from their places in cross_entropy, whose x is an inner value.
constexpr size_t kLoss = size_t{product::kInputs} - loss::target;
enum Input : size_t {
  x = product::x,
  weight = product::weight,
  bias = product::bias,
  target = kLoss + loss::target,  // and the rest of the loss's
  kMostInputs = kLoss + loss::kMostInputs
};
enum Output : size_t { sum, correct, dy, dx, y };  // y if `logits`
}  // namespace linear_cross_entropy

}  // namespace troika
