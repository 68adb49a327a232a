// gradient_factor and gradient_norm: the 2-norm of gradients, in the order in which they are
// stored. One thread adds the sums of chunks in their order: the result does not depend on the
// number of threads.
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/square_sum.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kChunk = 16384;

struct Chunk {
  size_t input;
  int64_t begin, floats;
};

// Sums the squares of the node's inputs [first, end), one sum per chunk.
class SquareSums {
 public:
  SquareSums(const KernelRequest& request, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      const int64_t floats = floats_of_input(request, i);
      for (int64_t begin = 0; begin < floats; begin += kChunk)
        chunks_.push_back({i, begin, std::min(kChunk, floats - begin)});
    }
  }

  size_t scratch_bytes() const { return chunks_.size() * sizeof(double); }

  double sum(void* const* in, void* scratch) const {
    auto* sums = static_cast<double*>(scratch);
    parallel_for(static_cast<int64_t>(chunks_.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k)
        sums[k] = square_sum(static_cast<const float*>(in[chunks_[k].input]) + chunks_[k].begin, chunks_[k].floats);
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

KernelChoice select_gradient_factor(const CpuDevice&, const KernelRequest& request) {
  const Attributes& a = request.node.attributes;
  const double max_norm = a.real("max_norm"), eps = a.real("eps");
  const bool is_scaled = request.node.inputs[0] != kNoValue;
  const SquareSums squares(request, 1, request.node.inputs.size());
  return choose(request, squares, "cpu:gradient_factor", [=](void* const* in, void* const* out, void* scratch) {
    const float scale = is_scaled ? *static_cast<const float*>(in[0]) : 1;
    auto& factor = *static_cast<float*>(out[0]);
    factor = 1 / scale;
    if (max_norm == 0) return;
    const double norm = std::sqrt(squares.sum(in, scratch)) / static_cast<double>(scale),
                 clip = max_norm / (norm + eps);
    factor *= clip > 1 ? 1 : static_cast<float>(clip);  // NaN stays
    *static_cast<float*>(out[1]) = static_cast<float>(norm);
  });
}

KernelChoice select_gradient_norm(const CpuDevice&, const KernelRequest& request) {
  const auto rank = request.node.attributes.integer("rank"), ranks = request.node.attributes.integer("ranks");
  const SquareSums squares(request, 0, request.node.inputs.size());
  return choose(request, squares, "cpu:gradient_norm", [=](void* const* in, void* const* out, void* scratch) {
    auto* norms = static_cast<float*>(out[0]);
    std::fill(norms, norms + ranks, 0.0f);
    norms[rank] = static_cast<float>(std::sqrt(squares.sum(in, scratch)));
  });
}

}  // namespace troika::cpu
