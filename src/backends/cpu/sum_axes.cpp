// sum_axes: sums of x as [outer, length, inner] over the middle. A sum is made of partial sums of a
// fixed length, so that its bits do not depend on the number of threads.
#include "ops/sum_axes.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/sum_run.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kPartNumbers = 16384;  // that a partial sum reads, about

TROIKA_VECTORIZE void add_run(const float* x, float* sums, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] += x[i];
}

// Sums of `length` rows of `inner` numbers.
void sum_rows_of_part(const float* x, int64_t length, int64_t inner, float* sums) {
  if (inner == 1) {
    *sums = sum_run(x, length);
    return;
  }
  std::fill_n(sums, inner, 0.0f);
  for (int64_t i = 0; i < length; ++i) add_run(x + i * inner, sums, inner);
}

}  // namespace

KernelChoice select_sum_axes(const CpuDevice&, const KernelRequest& request) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const SumRuns runs(request.node, x);
  const auto factor = static_cast<float>(factor_of_sum(request.node, x));
  const int64_t part = std::max<int64_t>(1, kPartNumbers / std::max<int64_t>(1, runs.inner)),
                parts = std::max<int64_t>(1, (runs.length + part - 1) / part);
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto* from = static_cast<const float*>(in[0]);
    auto* const y = static_cast<float*>(out[0]);
    auto* const sums = parts > 1 ? static_cast<float*>(scratch) : y;  // [outer, parts, inner]
    const int64_t grain =
        std::max<int64_t>(1, kPartNumbers / std::max<int64_t>(1, std::min(part, runs.length) * runs.inner));
    parallel_for(runs.outer * parts, grain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t first = k % parts * part;
        sum_rows_of_part(from + (k / parts * runs.length + first) * runs.inner, std::min(part, runs.length - first),
                         runs.inner, sums + k * runs.inner);
      }
    });
    if (parts > 1)
      parallel_for(runs.outer, 1, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o)
          sum_rows_of_part(sums + o * parts * runs.inner, parts, runs.inner, y + o * runs.inner);
      });
    if (factor == 1) return;
    for (int64_t i = 0; i < runs.outer * runs.inner; ++i) y[i] *= factor;
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:sum_axes", make_kernel(body));
  if (parts > 1) choice.scratch_bytes = static_cast<size_t>(runs.outer * parts * runs.inner) * sizeof(float);
  return choice;
}

}  // namespace troika::cpu
