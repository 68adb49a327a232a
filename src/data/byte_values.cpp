// Tables of 256 elements.
#include "data/byte_values.h"

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/text.h"

namespace troika {

std::array<float, 256> byte_values(double mean, double std, const char* what) {
  if (!std::isfinite(mean))
    throw Error(Status::invalid_argument, text(what, ": mean is ", mean, ", need a finite number"));
  if (!std::isfinite(std) || !(std > 0))
    throw Error(Status::invalid_argument, text(what, ": std is ", std, ", need a finite number above 0"));
  std::array<float, 256> values;
  for (size_t p = 0; p < values.size(); ++p) {
    values[p] = (static_cast<float>(p) / 255.0f - static_cast<float>(mean)) / static_cast<float>(std);
    if (!std::isfinite(values[p]))
      throw Error(Status::invalid_argument,
                  text(what, ": mean ", mean, " and std ", std, " take pixels out of the range of f32"));
  }
  return values;
}

const std::array<int32_t, 256>& byte_tokens() {
  static constexpr auto kTokens = [] {
    std::array<int32_t, 256> tokens{};
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
  }();
  return kTokens;
}

}  // namespace troika
