// dropout: a coin for each element from its logical place alone, so that the mask is that of every
// other device.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/philox.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

// The numbers on which coins depend, apart from the counter and the element's place, and the coins'
// results.
struct Coins {
  uint64_t layer;
  int64_t sample_offset;
  uint32_t threshold;  // the coin of 32 bits falls on "drop" below it
  float scale;
};

enum class Form {
  rows_of_4,   // plain, in packs of 4 that share a block of random bits
  nhwc_of_4,   // channels last; 4 neighbouring pixels of a channel share a block
  one_by_one,  // either, if the number of pixels is not a multiple of 4
};

// x and y: [samples, pixels, channels]; a plain tensor has one channel. Neighbouring threads take
// neighbouring channels, then pixels. y may be x.
template <typename T, Form kForm>
__global__ void __launch_bounds__(kThreads) dropout_kernel(const T* x, const int64_t* counter, T* y, int64_t samples,
                                                           int64_t channels, int64_t pixels, Coins coins) {
  wait_for_kernels_before();
  constexpr int kRun = kForm == Form::one_by_one ? 1 : 4;  // pixels of a thread
  const uint64_t key = static_cast<uint64_t>(counter[0]) ^ coins.layer, step = static_cast<uint64_t>(counter[1]);
  const int64_t runs = channels * (pixels / kRun);  // of a sample
  for (int64_t i = first_index(); i < samples * runs; i += index_step()) {
    const int64_t sample = i / runs, run = i % runs, channel = run % channels, pixel = run / channels * kRun;
    const int64_t at = (sample * pixels + pixel) * channels + channel;
    Pack<T, kRun> v;
    if constexpr (kForm == Form::rows_of_4) {
      v = *reinterpret_cast<const Pack<T, kRun>*>(x + at);
    } else {
#pragma unroll
      for (int k = 0; k < kRun; ++k) v.v[k] = x[at + k * channels];
    }
    const int64_t place = channel * pixels + pixel;  // row-major, in the sample
    const uint64_t sample_place = static_cast<uint64_t>(coins.sample_offset + sample);
    const uint4 bits = philox(key, sample_place << 32 | static_cast<uint64_t>(place / 4), step);
    if constexpr (kForm == Form::one_by_one) {
      const uint32_t coin = place & 2 ? (place & 1 ? bits.w : bits.z) : (place & 1 ? bits.y : bits.x);
      y[at] = from_float<T>(coin < coins.threshold ? 0 : to_float(v.v[0]) * coins.scale);
    } else {  // `place` is a multiple of 4
      const uint32_t coin[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
      for (int k = 0; k < kRun; ++k)
        v.v[k] = from_float<T>(coin[k] < coins.threshold ? 0 : to_float(v.v[k]) * coins.scale);
      if constexpr (kForm == Form::rows_of_4) {
        *reinterpret_cast<Pack<T, kRun>*>(y + at) = v;
      } else {
#pragma unroll
        for (int k = 0; k < kRun; ++k) y[at + k * channels] = v.v[k];
      }
    }
  }
}

template <typename T, Form kForm>
std::unique_ptr<Kernel> make_dropout(const CudaDevice& device, int64_t samples, int64_t channels, int64_t pixels,
                                     const Coins& coins) {
  return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    const int64_t work = samples * channels * pixels / (kForm == Form::one_by_one ? 1 : 4);
    dropout_kernel<T, kForm><<<blocks_for(work), kThreads, 0, stream>>>(a.in<T>(0), a.in<int64_t>(1), a.out<T>(0),
                                                                        samples, channels, pixels, coins);
  });
}

}  // namespace

KernelChoice select_dropout(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const TensorType& type = output_type(request, 0);
  const Shape& shape = type.shape;
  const double p = attributes.real("probability");
  const Coins coins = {static_cast<uint64_t>(attributes.integer("layer")), attributes.integer("sample_offset"),
                       static_cast<uint32_t>(p * 4294967296.0), static_cast<float>(1.0 / (1.0 - p))};
  const bool is_nhwc = nhwc(type) != nullptr;
  const int64_t samples = shape[0], features = samples ? shape.elements() / samples : 0;
  const int64_t channels = is_nhwc ? shape[1] : 1, pixels = features / channels;
  const Form form = pixels % 4 ? Form::one_by_one : is_nhwc ? Form::nhwc_of_4 : Form::rows_of_4;
  auto kernel = with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    switch (form) {
      case Form::rows_of_4: return make_dropout<T, Form::rows_of_4>(device, samples, channels, pixels, coins);
      case Form::nhwc_of_4: return make_dropout<T, Form::nhwc_of_4>(device, samples, channels, pixels, coins);
      default: return make_dropout<T, Form::one_by_one>(device, samples, channels, pixels, coins);
    }
  });
  KernelChoice choice =
      nhwc_choice(request, text("cuda:own:", is_nhwc ? "nhwc" : "rows", pixels % 4 ? "" : "_vec4"), std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

}  // namespace troika::cuda
