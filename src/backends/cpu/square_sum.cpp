// square_sum.
#include "backends/cpu/square_sum.h"

#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kSumLanes = 16;

}  // namespace

TROIKA_VECTORIZE double square_sum(const float* v, int64_t n) {
  double lane[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int64_t l = 0; l < kSumLanes; ++l) {
      const auto d = static_cast<double>(v[i + l]);
      lane[l] += d * d;
    }
  for (int64_t l = 0; i < n; ++i, ++l) {
    const auto d = static_cast<double>(v[i]);
    lane[l] += d * d;
  }
  double sum = 0;
  for (int64_t l = 0; l < kSumLanes; ++l) sum += lane[l];
  return sum;
}

}  // namespace troika::cpu
