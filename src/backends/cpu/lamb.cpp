// lamb_moments and lamb_update.
#include "backends/cpu/square_sum.h"
#include "backends/cpu/update.h"

namespace troika::cpu {
namespace {

struct LambNumbers {
  float rate, decay, factor, beta1, beta2, eps;
  float mean_scale, square_scale;  // 1 over the bias corrections, of the square its root

  explicit LambNumbers(const UpdateStep& s)
      : rate(s.rate), decay(s.decay), factor(s.factor), beta1(s.own[0]), beta2(s.own[1]), eps(s.own[2]) {
    mean_scale = static_cast<float>(1 / s.correction(0));
    square_scale = static_cast<float>(1 / std::sqrt(s.correction(1)));
  }
};

TROIKA_VECTORIZE void moments_range(const float* g, float* m, float* v, int64_t n, const LambNumbers& a) {
  for (int64_t i = 0; i < n; ++i) {
    const float d = g[i] * a.factor;
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * d;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * d * d;
  }
}

// r of [0, n) to `r`.
TROIKA_VECTORIZE void direction_range(const float* p, const float* m, const float* v, float* r, int64_t n,
                                      const LambNumbers& a) {
  for (int64_t i = 0; i < n; ++i)
    r[i] = m[i] * a.mean_scale / (std::sqrt(v[i]) * a.square_scale + a.eps) + a.decay * p[i];
}

TROIKA_VECTORIZE void step_range(float* p, const float* r, int64_t n, float rate) {
  for (int64_t i = 0; i < n; ++i) p[i] -= rate * r[i];
}

// Calls visit(begin, r, n) for parts of the piece, with the direction r of each.
template <typename Visit>
void visit_directions(const UpdatePiece& x, const LambNumbers& a, Visit visit) {
  constexpr int64_t kPart = 1024;
  float r[kPart];
  for (int64_t begin = 0; begin < x.n; begin += kPart) {
    const int64_t n = std::min(kPart, x.n - begin);
    direction_range(x.parameter + begin, x.slots[0] + begin, x.slots[1] + begin, r, n, a);
    visit(begin, r, n);
  }
}

}  // namespace

KernelChoice select_lamb_moments(const CpuDevice&, const KernelRequest& request) {
  return norms_choice(request, "cpu:lamb_moments", [](const UpdateStep& s) {
    return [a = LambNumbers(s)](const UpdatePiece& x) {
      moments_range(x.gradient, x.slots[0], x.slots[1], x.n, a);
      double squares = 0;
      visit_directions(x, a, [&squares](int64_t, const float* r, int64_t n) { squares += square_sum(r, n); });
      return std::array<double, 2>{square_sum(x.parameter, x.n), squares};
    };
  });
}

KernelChoice select_lamb_update(const CpuDevice&, const KernelRequest& request) {
  return update_choice(request, "cpu:lamb_update", [](const UpdateStep& s) {
    return [a = LambNumbers(s)](const UpdatePiece& x) {
      if (!x.norms) moments_range(x.gradient, x.slots[0], x.slots[1], x.n, a);
      const float rate = a.rate * ratio_of(x.norms);
      visit_directions(
          x, a, [&x, rate](int64_t begin, const float* r, int64_t n) { step_range(x.parameter + begin, r, n, rate); });
    };
  });
}

}  // namespace troika::cpu
