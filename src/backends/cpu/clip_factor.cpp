// clip_factor and gradient_norm: the 2-norm of gradients, as they lie. One thread adds the sums of chunks in their order: the
// result does not depend on the number of threads.
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kLanes = 16, kChunk = 16384;

struct Chunk {
  size_t input;
  int64_t begin, floats;
};

// A square of a float is exact in double, so that a fused multiply-add gives the same bits: any instruction set does.
TROIKA_VECTORIZE double sum_squares(const float* v, int64_t m) {
  double lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= m; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) {
      const auto d = static_cast<double>(v[i + l]);
      lane[l] += d * d;
    }
  for (int64_t l = 0; i < m; ++i, ++l) {
    const auto d = static_cast<double>(v[i]);
    lane[l] += d * d;
  }
  double sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += lane[l];
  return sum;
}

// Of the node's first `gradients` inputs. One sum of squares a chunk.
class SquareSums {
 public:
  SquareSums(const KernelRequest& request, size_t gradients) {
    const std::vector<int64_t> floats = floats_of_inputs(request, gradients);
    for (size_t i = 0; i < gradients; ++i)
      for (int64_t begin = 0; begin < floats[i]; begin += kChunk)
        chunks_.push_back({i, begin, std::min(kChunk, floats[i] - begin)});
  }

  size_t scratch_bytes() const { return chunks_.size() * sizeof(double); }

  double sum(void* const* in, void* scratch) const {
    auto* sums = static_cast<double*>(scratch);
    parallel_for(static_cast<int64_t>(chunks_.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k)
        sums[k] = sum_squares(static_cast<const float*>(in[chunks_[k].input]) + chunks_[k].begin, chunks_[k].floats);
    });
    double sum = 0;
    for (size_t k = 0; k < chunks_.size(); ++k) sum += sums[k];
    return sum;
  }

 private:
  std::vector<Chunk> chunks_;
};

template <typename Body>
KernelChoice choose(const KernelRequest& request, const SquareSums& squares, std::string name, Body body) {
  KernelChoice choice;
  choice.kernel = make_kernel(std::move(body));
  choice.name = std::move(name);
  choice.scratch_bytes = squares.scratch_bytes();
  choice.input_layouts = request.input_layouts;
  choice.output_layouts.resize(request.node.outputs.size());
  return choice;
}

}  // namespace

KernelChoice select_clip_factor(const CpuDevice&, const KernelRequest& request) {
  const Attributes& a = request.node.attributes;
  const double max_norm = a.real("max_norm"), eps = a.real("eps");
  const bool is_scaled = a.flag("scaled");
  const size_t gradients = request.node.inputs.size() - (is_scaled ? 1 : 0);
  const SquareSums squares(request, gradients);
  return choose(request, squares, "cpu:clip_factor", [=](void* const* in, void* const* out, void* scratch) {
    const double scale = is_scaled ? static_cast<double>(*static_cast<const float*>(in[gradients])) : 1;
    const double norm = std::sqrt(squares.sum(in, scratch)) / scale, factor = max_norm / (norm + eps);
    *static_cast<float*>(out[0]) = factor > 1 ? 1 : static_cast<float>(factor);  // NaN stays
    *static_cast<float*>(out[1]) = static_cast<float>(norm);
  });
}

KernelChoice select_gradient_norm(const CpuDevice&, const KernelRequest& request) {
  const auto rank = request.node.attributes.integer("rank"), ranks = request.node.attributes.integer("ranks");
  const SquareSums squares(request, request.node.inputs.size());
  return choose(request, squares, "cpu:gradient_norm", [=](void* const* in, void* const* out, void* scratch) {
    auto* norms = static_cast<float*>(out[0]);
    std::fill(norms, norms + ranks, 0.0f);
    norms[rank] = static_cast<float>(std::sqrt(squares.sum(in, scratch)));
  });
}

}  // namespace troika::cpu
