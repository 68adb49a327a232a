// sample_order and gather_samples: an epoch's order, a thread a sample; rows of a batch, copied in
// packs, and bytes looked up.
#include <bit>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/philox.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

// The permutation of core/sampler.h, whose functions device code cannot call.
struct Permutation {
  uint64_t samples;
  int low_bits, high_bits;

  __device__ static uint64_t mix(uint64_t key, uint64_t round, uint64_t half, int bits) {
    const uint4 random = philox(key, half, round);
    return (uint64_t{random.y} << 32 | random.x) & ((uint64_t{1} << bits) - 1);
  }

  __device__ uint64_t index_of(uint64_t x, uint64_t key) const {
    constexpr uint64_t kRounds = 6;
    do {
      uint64_t low = x & ((uint64_t{1} << low_bits) - 1), high = x >> low_bits;
      for (uint64_t round = 0; round < kRounds; ++round) {
        low ^= mix(key, 2 * round, high, low_bits);
        high ^= mix(key, 2 * round + 1, low, high_bits);
      }
      x = high << low_bits | low;
    } while (x >= samples);
    return x;
  }
};

__global__ void __launch_bounds__(kThreads)
    sample_order_kernel(const int64_t* key, int64_t* order, Permutation permutation) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < static_cast<int64_t>(permutation.samples); i += index_step())
    order[i] = static_cast<int64_t>(permutation.index_of(static_cast<uint64_t>(i), static_cast<uint64_t>(key[0])));
}

__device__ inline float value_of(float sample, const float*) { return sample; }
__device__ inline float value_of(uint8_t sample, const float* values) { return values[sample]; }

// The source of a batch: rows of samples, of `row` packs, and of targets, of `target_row` elements
// of 4 bytes.
template <typename T>
struct Source {
  const T* samples;
  const float* values;  // of u8
  const uint32_t* targets;
  const int64_t *first, *order;  // order: null for 0, 1, 2 ...
  int64_t row, target_row;
};

// x [batch, row] in packs, targets [batch, target_row]. A row of blocks takes a sample.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gather_samples_kernel(Source<T> source, float* x, uint32_t* targets, int64_t batch, int64_t offset) {
  wait_for_kernels_before();
  using From = Pack<T, kWidth>;
  using To = Pack<float, kWidth>;
  for (int64_t i = blockIdx.y; i < batch; i += gridDim.y) {
    const int64_t place = source.first[0] + offset + i, sample = source.order ? source.order[place] : place;
    const From* const from = reinterpret_cast<const From*>(source.samples) + sample * source.row;
    To* const to = reinterpret_cast<To*>(x) + i * source.row;
    for (int64_t k = first_index(); k < source.row; k += index_step()) {
      const From packed = from[k];
      To values;
#pragma unroll
      for (int e = 0; e < kWidth; ++e) values.v[e] = value_of(packed.v[e], source.values);
      to[k] = values;
    }
    for (int64_t k = first_index(); k < source.target_row; k += index_step())
      targets[i * source.target_row + k] = source.targets[sample * source.target_row + k];
  }
}

int64_t row_of(const KernelRequest& request, size_t input) {  // elements, 0 if absent
  if (!has_input(request, input)) return 0;
  const Shape& shape = input_type(request, input).shape;
  return shape.elements() / shape[0];
}

template <typename T, int kWidth>
KernelChoice gathering(CudaDevice& device, const KernelRequest& request, const char* name) {
  constexpr int64_t kMostRows = 65535;  // of a grid
  const Attributes& attributes = request.node.attributes;
  const int64_t batch = attributes.integer("batch"), offset = attributes.integer("offset");
  const int64_t row = row_of(request, 2) / kWidth, target_row = row_of(request, 4);
  auto body = [=](const Arguments& a, cudaStream_t stream) {
    if (batch == 0) return;
    const auto optional = [&](size_t i) { return i < a.inputs.size() ? a.inputs[i] : nullptr; };
    const Source<T> source = {a.in<T>(2),
                              static_cast<const float*>(optional(3)),
                              static_cast<const uint32_t*>(optional(4)),
                              a.in<int64_t>(0),
                              a.in<int64_t>(1),
                              row,
                              target_row};
    const dim3 grid(blocks_for(std::max(row, target_row)), static_cast<unsigned>(std::min(batch, kMostRows)));
    float* const x = row ? a.out<float>(0) : nullptr;
    uint32_t* const targets = target_row ? a.out<uint32_t>(row ? 1 : 0) : nullptr;
    gather_samples_kernel<T, kWidth><<<grid, kThreads, 0, stream>>>(source, x, targets, batch, offset);
  };
  return plain_choice(request, text("cuda:own:", name, kWidth > 1 ? "_vec4" : ""), make_kernel(device, body));
}

}  // namespace

KernelChoice select_sample_order(CudaDevice& device, const KernelRequest& request) {
  const int64_t samples = request.node.attributes.integer("samples");
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(samples - 1)));
  const Permutation permutation = {static_cast<uint64_t>(samples), (bits + 1) / 2, bits / 2};
  auto body = [=](const Arguments& a, cudaStream_t stream) {
    sample_order_kernel<<<blocks_for(samples), kThreads, 0, stream>>>(a.in<int64_t>(0), a.out<int64_t>(0), permutation);
  };
  return plain_choice(request, "cuda:own:sample_order", make_kernel(device, body));
}

KernelChoice select_gather_samples(CudaDevice& device, const KernelRequest& request) {
  const bool is_packed = row_of(request, 2) % 4 == 0;
  if (!has_input(request, 3))
    return is_packed ? gathering<float, 4>(device, request, "gather_samples")
                     : gathering<float, 1>(device, request, "gather_samples");
  return is_packed ? gathering<uint8_t, 4>(device, request, "gather_samples_u8")
                   : gathering<uint8_t, 1>(device, request, "gather_samples_u8");
}

}  // namespace troika::cuda
