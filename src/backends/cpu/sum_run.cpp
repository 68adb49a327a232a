// Lanes that the compiler keeps in vectors.
#include "backends/cpu/sum_run.h"

#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kRunLanes = 16;

}  // namespace

TROIKA_VECTORIZE float sum_run(const float* x, int64_t n) {
  float lanes[kRunLanes] = {};
  int64_t i = 0;
  for (; i + kRunLanes <= n; i += kRunLanes)
    for (int64_t lane = 0; lane < kRunLanes; ++lane) lanes[lane] += x[i + lane];
  float rest = 0;
  for (; i < n; ++i) rest += x[i];
  for (int64_t half = kRunLanes / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0] + rest;
}

}  // namespace troika::cpu
