// round_bf16: gradients rounded in place, as they lie. A block takes a chunk.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"

namespace troika::cuda {
namespace {

// The upper half of a float's bits, rounded to the nearest, ties to even; a NaN stays one, quiet.
__device__ uint32_t round_bits(uint32_t b) {
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u;
  return (b & 0x7fffffffu) > 0x7f800000u ? (b | 0x00400000u) & 0xffff0000u : rounded;
}

__global__ void __launch_bounds__(kThreads) round_bf16_kernel(const __grid_constant__ RunTable<1> table) {
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  auto* const bits = reinterpret_cast<uint32_t*>(table.runs[chunk.run].arrays[0] + chunk.begin);
  using Words = Pack<uint32_t, 4>;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    Words words = reinterpret_cast<const Words*>(bits)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) words.v[k] = round_bits(words.v[k]);
    reinterpret_cast<Words*>(bits)[i] = words;
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads)
    bits[i] = round_bits(bits[i]);
}

class RoundBf16 : public Kernel {
 public:
  // `counts`: floats of each gradient.
  RoundBf16(cudaStream_t stream, std::vector<int64_t> counts) : stream_(stream), counts_(std::move(counts)) {}

  void bind(std::span<void* const> inputs, std::span<void* const>, void*) override {
    std::vector<Run<1>> runs;
    for (size_t i = 0; i < counts_.size(); ++i) runs.push_back({{static_cast<float*>(inputs[i])}, counts_[i]});
    tables_ = make_tables(std::move(runs));
  }

  void run() override {
    for (const RunTable<1>& table : tables_) round_bf16_kernel<<<table.chunks(), kThreads, 0, stream_>>>(table);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  const std::vector<int64_t> counts_;
  std::vector<RunTable<1>> tables_;
};

}  // namespace

KernelChoice select_round_bf16(CudaDevice& device, const KernelRequest& request) {
  std::vector<int64_t> counts;
  for (size_t i = 0; i < request.node.inputs.size(); ++i)
    counts.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  KernelChoice choice;
  choice.kernel = std::make_unique<RoundBf16>(device.stream(), std::move(counts));
  choice.name = "cuda:own:round_bf16_runs";
  choice.input_layouts = request.input_layouts;  // whatever they are
  return choice;
}

}  // namespace troika::cuda
