// Forward: weights wait in shared memory, and a thread makes a pack of channels of 4 neighbouring
// pixels. Gradient: a thread sums a pack of channels under 9 taps over its share of the pixels;
// then blocks and chunks are summed in a fixed order. Windows inside their image take a path
// without tests.
#include "backends/cuda/stem_conv2d.h"

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pack_width.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr int kMostKernel = 11;
constexpr int kTileChannels = 64;  // whose weights a block holds
constexpr int kRun = 4;            // pixels of a row that a thread makes
constexpr int kTaps = 9;           // that a thread adds up

// The convolution in 32 bits, and how a block's threads share it: `lanes` runs or pixels at a time,
// `width` packs of channels.
struct Stem {
  int x_size[2], y_size[2], kernel[2], stride[2], padding[2], dilation[2];
  int k;
  unsigned pixels, runs;  // of all images
  int runs_of_row;
  int width, lanes;

  Stem(const Convolution& v, int pack) : k(static_cast<int>(v.k)) {
    for (int i = 0; i < 2; ++i) {
      x_size[i] = static_cast<int>(v.x_size[i]);
      y_size[i] = static_cast<int>(v.y_size[i]);
      kernel[i] = static_cast<int>(v.kernel[i]);
      stride[i] = static_cast<int>(v.stride[i]);
      padding[i] = static_cast<int>(v.padding[i]);
      dilation[i] = static_cast<int>(v.dilation[i]);
    }
    runs_of_row = (y_size[1] + kRun - 1) / kRun;
    pixels = static_cast<unsigned>(v.pixels());
    runs = static_cast<unsigned>(v.n * v.y_size[0]) * static_cast<unsigned>(runs_of_row);
    width = std::min(k, kTileChannels) / pack;
    lanes = kThreads / width;
  }
  unsigned tiles(int pack) const { return static_cast<unsigned>((k / pack + width - 1) / width); }
};

__device__ inline bool is_below(int i, int size) { return static_cast<unsigned>(i) < static_cast<unsigned>(size); }

template <typename T, int kN>
__global__ void __launch_bounds__(kThreads)
    stem_kernel(const T* x, const T* weights, const float* bias, bool relu, T* y, Stem s) {
  wait_for_kernels_before();
  // [tap, part of a pack, column, up to 4 channels]: neighbouring threads read neighbouring 16
  // bytes.
  extern __shared__ __align__(16) float held[];
  constexpr int kPart = kN < 4 ? kN : 4;
  const int tile = s.width * kN, taps = s.kernel[0] * s.kernel[1];
  const int first_channel = static_cast<int>(blockIdx.y) * tile;
  for (int i = static_cast<int>(threadIdx.x); i < tile * taps; i += kThreads) {
    const int c = i % tile, tap = i / tile, channel = first_channel + c;
    const int part = c % kN / kPart, column = c / kN;
    held[tap * tile + (part * s.width + column) * kPart + c % kPart] =
        channel < s.k ? to_float(weights[int64_t{channel} * taps + tap]) : 0.0f;
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) / s.width, column = static_cast<int>(threadIdx.x) % s.width;
  const int channel = first_channel + column * kN;
  if (lane >= s.lanes || channel >= s.k) return;
  float start[kN];
#pragma unroll
  for (int k = 0; k < kN; ++k) start[k] = bias ? bias[channel + k] : 0.0f;

  for (unsigned run = blockIdx.x * s.lanes + lane; run < s.runs; run += gridDim.x * s.lanes) {
    const unsigned row = run / s.runs_of_row, image = row / s.y_size[0];  // row: of all images
    const int y_column = static_cast<int>(run % s.runs_of_row) * kRun;
    const int first_row = static_cast<int>(row % s.y_size[0]) * s.stride[0] - s.padding[0];
    const int first_column = y_column * s.stride[1] - s.padding[1];
    const T* const x_image = x + int64_t{image} * s.x_size[0] * s.x_size[1];
    float sum[kRun][kN];
#pragma unroll
    for (int r = 0; r < kRun; ++r)
#pragma unroll
      for (int k = 0; k < kN; ++k) sum[r][k] = start[k];
    const auto add_taps = [&](auto is_inside) {
      for (int p = 0; p < s.kernel[0]; ++p) {
        const int x_row = first_row + p * s.dilation[0];
        if (!is_below(x_row, s.x_size[0])) continue;
        const T* const from = x_image + int64_t{x_row} * s.x_size[1] + first_column;
        const float* tap = held + p * s.kernel[1] * tile + column * kPart;
        for (int q = 0; q < s.kernel[1]; ++q, tap += tile) {
          float a[kRun];
#pragma unroll
          for (int r = 0; r < kRun; ++r) {
            const int at = q * s.dilation[1] + r * s.stride[1];
            a[r] = decltype(is_inside)::value || is_below(first_column + at, s.x_size[1]) ? to_float(from[at]) : 0.0f;
          }
#pragma unroll
          for (int part = 0; part < kN / kPart; ++part) {
            const auto w = *reinterpret_cast<const Pack<float, kPart>*>(tap + part * s.width * kPart);
#pragma unroll
            for (int k = 0; k < kPart; ++k)
#pragma unroll
              for (int r = 0; r < kRun; ++r) sum[r][part * kPart + k] = fmaf(a[r], w.v[k], sum[r][part * kPart + k]);
          }
        }
      }
    };
    const int last_column = first_column + (kRun - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1];
    if (first_column >= 0 && last_column < s.x_size[1])
      add_taps(std::true_type{});
    else
      add_taps(std::false_type{});
#pragma unroll
    for (int r = 0; r < kRun; ++r) {
      if (y_column + r >= s.y_size[1]) break;
      Pack<T, kN> result;
#pragma unroll
      for (int k = 0; k < kN; ++k) result.v[k] = from_float<T>(relu && sum[r][k] < 0 ? 0.0f : sum[r][k]);
      const int64_t pixel = int64_t{row} * s.y_size[1] + y_column + r;
      *reinterpret_cast<Pack<T, kN>*>(y + pixel * s.k + channel) = result;
    }
  }
}

// partials[chunk] of the pixels: [k, taps]. Grid: chunks, tiles of channels, groups of taps.
template <typename T, int kN>
__global__ void __launch_bounds__(kThreads)
    stem_gradient_kernel(const T* x, const T* dy, float* partials, unsigned pixels_of_chunk, Stem s) {
  wait_for_kernels_before();
  __shared__ float shared[kThreads * kN], halves[kThreads];
  const int tile = s.width * kN, taps = s.kernel[0] * s.kernel[1];
  const int first_tap = static_cast<int>(blockIdx.z) * kTaps, first_channel = static_cast<int>(blockIdx.y) * tile;
  const int lane = static_cast<int>(threadIdx.x) / s.width, column = static_cast<int>(threadIdx.x) % s.width;
  const int channel = first_channel + column * kN;
  int row_of[kTaps], column_of[kTaps];  // in x, from where the pixel's window begins
  int64_t offset_of[kTaps];
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
    const int tap = min(first_tap + t, taps - 1);  // taps after the last one are summed in vain
    row_of[t] = tap / s.kernel[1] * s.dilation[0];
    column_of[t] = tap % s.kernel[1] * s.dilation[1];
    offset_of[t] = int64_t{row_of[t]} * s.x_size[1] + column_of[t];
  }
  const int height = (s.kernel[0] - 1) * s.dilation[0],
            width = (s.kernel[1] - 1) * s.dilation[1];  // of a window, less 1

  float sum[kTaps][kN] = {};
  if (lane < s.lanes && channel < s.k) {
    const unsigned begin = blockIdx.x * pixels_of_chunk, end = min(begin + pixels_of_chunk, s.pixels);
    const unsigned first_row = (begin + lane) / s.y_size[1], first_image = first_row / s.y_size[0];
    int y_column = static_cast<int>((begin + lane) % s.y_size[1]), y_row = static_cast<int>(first_row % s.y_size[0]);
    const T* x_image = x + int64_t{first_image} * s.x_size[0] * s.x_size[1];
    for (unsigned pixel = begin + lane; pixel < end; pixel += s.lanes) {
      const int x_row = y_row * s.stride[0] - s.padding[0], x_column = y_column * s.stride[1] - s.padding[1];
      const T* const window = x_image + int64_t{x_row} * s.x_size[1] + x_column;
      const auto g = *reinterpret_cast<const Pack<T, kN>*>(dy + int64_t{pixel} * s.k + channel);
      const auto add_taps = [&](auto is_inside) {
#pragma unroll
        for (int t = 0; t < kTaps; ++t) {
          const bool is_there = decltype(is_inside)::value || (is_below(x_row + row_of[t], s.x_size[0]) &&
                                                               is_below(x_column + column_of[t], s.x_size[1]));
          const float a = is_there ? to_float(window[offset_of[t]]) : 0.0f;
#pragma unroll
          for (int k = 0; k < kN; ++k) sum[t][k] = fmaf(a, to_float(g.v[k]), sum[t][k]);
        }
      };
      if (x_row >= 0 && x_row + height < s.x_size[0] && x_column >= 0 && x_column + width < s.x_size[1])
        add_taps(std::true_type{});
      else
        add_taps(std::false_type{});
      // The next pixel without a division.
      for (y_column += s.lanes; y_column >= s.y_size[1]; y_column -= s.y_size[1])
        if (++y_row == s.y_size[0]) y_row = 0, x_image += int64_t{s.x_size[0]} * s.x_size[1];
    }
  }

  const int parts = kThreads / tile, c = static_cast<int>(threadIdx.x) % tile;
  const int part = static_cast<int>(threadIdx.x) / tile;
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
    const int tap = first_tap + t;
    if (tap == taps) break;  // the same for the whole block
    if (lane < s.lanes) {
#pragma unroll
      for (int k = 0; k < kN; ++k) shared[(lane * s.width + column) * kN + k] = sum[t][k];
    }
    __syncthreads();
    float total = 0;
    if (part < parts)
      for (int l = part; l < s.lanes; l += parts) total += shared[l * tile + c];
    halves[threadIdx.x] = total;
    __syncthreads();
    if (part == 0 && first_channel + c < s.k) {
      total = 0;
      for (int i = 0; i < parts; ++i) total += halves[i * tile + c];
      partials[int64_t{blockIdx.x} * s.k * taps + int64_t{first_channel + c} * taps + tap] = total;
    }
  }
}

// Chunks of the pixels of y: enough to fill a GPU, few enough that their sums are soon added up.
struct Chunks {
  unsigned pixels, count;

  explicit Chunks(int64_t all) {
    constexpr int64_t kPixels = 1024, kMost = 512;
    const int64_t wanted = std::clamp<int64_t>(all / kPixels, 1, kMost);
    pixels = static_cast<unsigned>((all + wanted - 1) / wanted);
    count = static_cast<unsigned>((all + pixels - 1) / pixels);
  }
};

}  // namespace

bool is_stem(const Convolution& v) {
  constexpr int64_t kMost = int64_t{1} << 29;  // what is counted in 32 bits stays far from their end
  for (int i = 0; i < 2; ++i)
    if (v.kernel[i] > kMostKernel || v.x_size[i] > kMost || v.y_size[i] * v.stride[i] > kMost) return false;
  return v.c == 1 && v.pixels() < kMost && v.k < kMost;
}

std::string stem_kernel_name(DType dtype, const Convolution& v) {
  return with_type(dtype, [&](auto zero) {
    return with_pack<decltype(zero)>(v.k, [](auto pack) { return text("stem_vec", decltype(pack)::value); });
  });
}

void stem_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, const float* bias, bool relu,
                 void* y, cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(v.k, [&](auto pack) {
      constexpr int kN = decltype(pack)::value;
      constexpr int64_t kMostBlocks = 2048;  // a block loads the weights once
      const Stem s(v, kN);
      const dim3 grid(blocks_for(s.runs, s.lanes, kMostBlocks), s.tiles(kN));
      const size_t held_bytes = static_cast<size_t>(s.width * kN * v.taps()) * sizeof(float);
      stem_kernel<T, kN><<<grid, kThreads, held_bytes, stream>>>(
          static_cast<const T*>(x), static_cast<const T*>(weights), bias, relu, static_cast<T*>(y), s);
    });
  });
}

void stem_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, float* dweights,
                          float* dbias, void* scratch, cudaStream_t stream) {
  const Chunks chunks(v.pixels());
  auto* const partials = static_cast<float*>(scratch);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(v.k, [&](auto pack) {
      constexpr int kN = decltype(pack)::value;
      const Stem s(v, kN);
      const dim3 grid(chunks.count, s.tiles(kN), static_cast<unsigned>((v.taps() + kTaps - 1) / kTaps));
      stem_gradient_kernel<T, kN><<<grid, kThreads, 0, stream>>>(static_cast<const T*>(x), static_cast<const T*>(dy),
                                                                 partials, chunks.pixels, s);
    });
  });
  sum_partials(partials, chunks.count, dweights, v.weight_elements(), stream);
  if (dbias) sum_rows(dtype, dy, dbias, v.pixels(), v.k, scratch, stream);
}

size_t stem_weight_gradient_scratch_bytes(DType dtype, const Convolution& v, bool bias) {
  const size_t partials = Chunks(v.pixels()).count * static_cast<size_t>(v.weight_elements()) * sizeof(float);
  return bias ? std::max(partials, sum_rows_scratch_bytes(dtype, v.pixels(), v.k)) : partials;
}

}  // namespace troika::cuda
