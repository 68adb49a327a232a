// lars_norms and lars_update.
#include "backends/cpu/square_sum.h"
#include "backends/cpu/update.h"

namespace troika::cpu {
namespace {

TROIKA_VECTORIZE void lars_range(float* p, const float* g, float* m, int64_t n, float rate, float decay, float factor,
                                 float momentum) {
  for (int64_t i = 0; i < n; ++i) {
    m[i] = momentum * m[i] + rate * (g[i] * factor + decay * p[i]);
    p[i] -= m[i];
  }
}

}  // namespace

KernelChoice select_lars_norms(const CpuDevice&, const KernelRequest& request) {
  return norms_choice(request, "cpu:lars_norms", [](const UpdateStep& s) {
    const double factor = static_cast<double>(s.factor);
    return [factor](const UpdatePiece& x) {
      return std::array<double, 2>{square_sum(x.parameter, x.n), factor * factor * square_sum(x.gradient, x.n)};
    };
  });
}

KernelChoice select_lars_update(const CpuDevice&, const KernelRequest& request) {
  return update_choice(request, "cpu:lars_update", [](const UpdateStep& s) {
    return [s](const UpdatePiece& x) {
      const float momentum = s.own[0], trust = s.own[1], eps = s.own[2];
      float ratio = 1;
      if (x.norms && x.norms[0] > 0 && x.norms[1] > 0) {
        const float p = std::sqrt(x.norms[0]), g = std::sqrt(x.norms[1]);
        ratio = trust * p / (g + s.decay * p + eps);
      }
      lars_range(x.parameter, x.gradient, x.slots[0], x.n, s.rate * ratio, s.decay, s.factor, momentum);
    };
  });
}

}  // namespace troika::cpu
