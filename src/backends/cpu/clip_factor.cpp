// clip_factor: the 2-norm of all gradients, as they lie. One thread adds the sums of chunks in their order: the result does not
// depend on the number of threads.
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

}  // namespace

KernelChoice select_clip_factor(const CpuDevice&, const KernelRequest& request) {
  const Attributes& a = request.node.attributes;
  const double max_norm = a.real("max_norm"), eps = a.real("eps");
  const bool is_scaled = a.flag("scaled");
  const size_t gradients = request.node.inputs.size() - (is_scaled ? 1 : 0);
  std::vector<Chunk> chunks;  // of all gradients, padding included: it is 0
  for (size_t i = 0; i < gradients; ++i) {
    const auto floats = static_cast<int64_t>(
        bytes_in(request.graph.type(request.node.inputs[i]), request.input_layouts[i]) / sizeof(float));
    for (int64_t begin = 0; begin < floats; begin += kChunk)
      chunks.push_back({i, begin, std::min(kChunk, floats - begin)});
  }
  const size_t scratch_bytes = chunks.size() * sizeof(double);
  auto body = [=, chunks = std::move(chunks)](void* const* in, void* const* out, void* scratch) {
    auto* sums = static_cast<double*>(scratch);
    parallel_for(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k)
        sums[k] = sum_squares(static_cast<const float*>(in[chunks[k].input]) + chunks[k].begin, chunks[k].floats);
    });
    double sum = 0;
    for (size_t k = 0; k < chunks.size(); ++k) sum += sums[k];
    const double scale = is_scaled ? static_cast<double>(*static_cast<const float*>(in[gradients])) : 1;
    const double norm = std::sqrt(sum) / scale, factor = max_norm / (norm + eps);
    *static_cast<float*>(out[0]) = factor > 1 ? 1 : static_cast<float>(factor);  // NaN stays
    *static_cast<float*>(out[1]) = static_cast<float>(norm);
  };
  KernelChoice choice;
  choice.kernel = make_kernel(std::move(body));
  choice.name = "cpu:clip_factor";
  choice.scratch_bytes = scratch_bytes;
  choice.input_layouts = request.input_layouts;
  choice.output_layouts = {nullptr, nullptr};
  return choice;
}

}  // namespace troika::cpu
