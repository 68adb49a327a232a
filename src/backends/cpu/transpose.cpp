// transpose: copies runs of neighbours, or else in squares that stay in the cache.
#include "ops/transpose.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kTransposeGrain = 16384;  // numbers a thread at least
constexpr int64_t kSquare = 32;

// The loops but the two that a square is made of: the output's innermost, and the one over the
// input's neighbours.
struct Squares {
  TransposeLoops outer;         // without these two
  int64_t outer_to[kMaxRank];   // the output's step of each outer loop
  int64_t across, across_step;  // the output's innermost loop, and its step in the input
  int64_t along, along_to;      // the input's innermost loop, and its step in the output
};

Squares squares_of(const TransposeLoops& loops) {
  Squares s{};
  int64_t to[kMaxRank] = {}, step = 1;
  for (int i = loops.count - 1; i >= 0; --i) {
    to[i] = step;
    step *= loops.size[i];
  }
  const int last = loops.count - 1;
  s.across = loops.size[last];
  s.across_step = loops.step[last];
  s.along = 1;
  for (int i = 0; i < last; ++i) {
    if (loops.step[i] == 1) {
      s.along = loops.size[i];
      s.along_to = to[i];
      continue;
    }
    s.outer.size[s.outer.count] = loops.size[i];
    s.outer.step[s.outer.count] = loops.step[i];
    s.outer_to[s.outer.count++] = to[i];
  }
  return s;
}

void copy_square(const float* from, float* to, const Squares& s, int64_t first_along, int64_t first_across) {
  const int64_t along = std::min(kSquare, s.along - first_along), across = std::min(kSquare, s.across - first_across);
  for (int64_t i = first_along; i < first_along + along; ++i)
    for (int64_t j = first_across; j < first_across + across; ++j) to[i * s.along_to + j] = from[j * s.across_step + i];
}

}  // namespace

KernelChoice select_transpose(const CpuDevice&, const KernelRequest& request) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const TransposeLoops loops = transpose_loops(request.node, x);
  const Squares s = squares_of(loops);
  const bool copies_runs = loops.step[loops.count - 1] == 1 || x.elements() <= 1;
  const int64_t bands = (s.along + kSquare - 1) / kSquare;
  const int64_t plane = std::max<int64_t>(1, s.across * s.along), planes = x.elements() / plane;
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto* from = static_cast<const float*>(in[0]);
    auto* to = static_cast<float*>(out[0]);
    const int64_t grain = std::max<int64_t>(1, kTransposeGrain / (plane / std::max<int64_t>(1, bands) + 1));
    parallel_for(planes * bands, grain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        int64_t rest = k / bands, at = 0, at_to = 0;
        for (int i = s.outer.count - 1; i >= 0; --i) {
          at += rest % s.outer.size[i] * s.outer.step[i];
          at_to += rest % s.outer.size[i] * s.outer_to[i];
          rest /= s.outer.size[i];
        }
        if (copies_runs) {
          std::copy_n(from + at, s.across, to + at_to);
          continue;
        }
        for (int64_t j = 0; j < s.across; j += kSquare) copy_square(from + at, to + at_to, s, k % bands * kSquare, j);
      }
    });
  };
  return uniform_choice(request, nullptr, "cpu:transpose", make_kernel(body));
}

}  // namespace troika::cpu
