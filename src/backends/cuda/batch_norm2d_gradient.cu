// batch_norm2d's gradient: a launch for its sums, which writes dz if it is needed, and a launch for
// dx. With sums over several ranks the first launch is a node of its own, and a small launch
// computes the second launch's factors from all ranks' sums.
#include "backends/cuda/batch_norm2d.cuh"
#include "backends/cuda/batch_norm2d_passes.h"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/gaps.cuh"
#include "ops/addend.h"

namespace troika::cuda {
namespace {

// dz = dy if y > 0; without y, always. NaN in y lets dy pass.
template <typename T, int V>
__device__ float before_relu(const Pack<T, V>& dy, const Pack<T, V>& y, bool has_y, int v) {
  const float d = to_float(dy.v[v]), cut = to_float(y.v[v]) <= 0 ? 0 : d;
  return has_y ? cut : d;
}

// Another gradient, which is added to dy.
enum class Addend {
  none,
  whole,
  has_gaps  // stored without the gaps: every `stride`-th row and column
};

// The operands of the sums' pass: images as packs of P.
template <typename P>
struct GradientImages {
  const P *x, *y, *dy;  // y: or null
  const P* more;        // the addend, or null
  const uint8_t* mask;  // of the ReLU, in place of y; or null. For packs of 8.
  P* dz;                // or null; may be dy, or `more` if the addend is whole
  Gaps gaps = {};
};

// The same from addresses; `mask` says what `y` is.
template <typename P>
GradientImages<P> images_of(const void* x, const void* y, bool is_mask, const void* dy, const void* more, void* dz,
                            const Gaps& gaps = {}) {
  return {static_cast<const P*>(x),
          is_mask ? nullptr : static_cast<const P*>(y),
          static_cast<const P*>(dy),
          static_cast<const P*>(more),
          is_mask ? static_cast<const uint8_t*>(y) : nullptr,
          static_cast<P*>(dz),
          gaps};
}

struct ParameterGradients {
  const float *weight, *mean, *inv_std;
  float *dweight, *dbias, *dbias_too;  // the last: the same as dbias, or null
  float* factors;                      // a, b, c [3][channels] of dx = a dz + b (x - mean) + c
  double share;                        // of a value in the mean
};

// From a channel's sums of dz and dz (x - mean): `own` make the parameters' gradients, those of all
// ranks make dx.
__device__ void store_gradients(const ParameterGradients& to, int64_t channels, int64_t channel, double weight,
                                double inverse, double2 own, double2 all) {
  const double a = weight * inverse;
  to.dbias[channel] = static_cast<float>(own.x);
  if (to.dbias_too) to.dbias_too[channel] = static_cast<float>(own.x);
  to.dweight[channel] = static_cast<float>(own.y * inverse);
  to.factors[channel] = static_cast<float>(a);
  to.factors[channels + channel] = static_cast<float>(-a * inverse * inverse * all.y * to.share);
  to.factors[2 * channels + channel] = static_cast<float>(-a * all.x * to.share);
}

// dy and another gradient of y, rounded as if they had been added by a launch of their own.
template <typename T, int V>
__device__ void add_to(Pack<T, V>& dy, const Pack<T, V>& more) {
#pragma unroll
  for (int v = 0; v < V; ++v) dy.v[v] = from_float<T>(to_float(dy.v[v]) + to_float(more.v[v]));
}

// Computes sums of dz and dz (x - mean). They make the parameters' gradients, or, if `own_sums` is
// not null, are stored there as {values per channel, sums of dz [channels], of dz (x - mean)
// [channels]}.
template <typename T, int V, Addend kAddend>
__global__ void __launch_bounds__(kBlock, kBlocksEach)
    gradient_sums_kernel(GradientImages<Pack<T, V>> images, Tiling t, float2* pairs, unsigned* arrived,
                         ParameterGradients to, float* own_sums) {
  wait_for_kernels_before();
  constexpr int kN = 2;
  const Share s = share_of(t);
  float sum[V] = {}, product[V] = {};
  if (s.count > 0) {
    LoadedPacks<Pack<T, V>, kN> loaded_x, loaded_y, loaded_dy, loaded_more;
    LoadedPacks<uint8_t, kN> loaded_mask;
    int64_t at = s.at;
    int left = s.count, pixel = static_cast<int>(t.first_row(blockIdx.y)) + static_cast<int>(threadIdx.x) / t.lanes;
    const auto fetch = [&] {
      loaded_x.load(images.x, at, s.stride, left);
      loaded_dy.load(images.dy, at, s.stride, left);
      if (images.y) loaded_y.load(images.y, at, s.stride, left);
      if (V == 8 && images.mask) loaded_mask.load(images.mask, at, s.stride, left);
      if constexpr (kAddend == Addend::whole) loaded_more.load(images.more, at, s.stride, left);
      if constexpr (kAddend == Addend::has_gaps)
        loaded_more.load_from(images.more, left, [&](int i) {
          const int64_t found = images.gaps.find(pixel + i * t.depth);
          return found < 0 ? found : found * t.packs + s.pack;
        });
    };
    fetch();
    float mean[V];
    load_channels(mean, to.mean, s.pack);
    for (; left > 0; left -= kN, at += kN * s.stride, pixel += kN * t.depth, fetch()) {
#pragma unroll
      for (int i = 0; i < kN; ++i)
        if (i < left) {
          const Pack<T, V> px = loaded_x[i], py = loaded_y[i];
          Pack<T, V> pdy = loaded_dy[i], result;
          if constexpr (kAddend != Addend::none) add_to(pdy, loaded_more[i]);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            float d = before_relu(pdy, py, images.y, v);
            if (V == 8 && images.mask && !(loaded_mask[i] >> v & 1)) d = 0;
            sum[v] += d;
            product[v] += d * (to_float(px.v[v]) - mean[v]);
            result.v[v] = from_float<T>(d);
          }
          if (images.dz) images.dz[at + i * s.stride] = result;
        }
    }
  }

  const int width = t.lanes * V, channel = blockIdx.x * width + threadIdx.x;
  const bool has_channel = threadIdx.x < width && channel < t.channels;
  const float2 total = sum_rows(t, sum, product);
  if (has_channel) pairs[int64_t{blockIdx.y} * t.channels + channel] = total;
  if (!is_last_of_tile(arrived, has_channel)) return;

  const bool makes_gradients = has_channel && !own_sums;
  const double weight = makes_gradients ? to.weight[channel] : 0, inverse = makes_gradients ? to.inv_std[channel] : 0;
  const double2 sums = fold_slices(t, pairs, width, [](float2 p, int) { return p; });
  if (!has_channel) return;
  if (!own_sums) return store_gradients(to, t.channels, channel, weight, inverse, sums, sums);
  if (channel == 0) own_sums[0] = static_cast<float>(t.rows());
  own_sums[1 + channel] = static_cast<float>(sums.x);
  own_sums[1 + int64_t{t.channels} + channel] = static_cast<float>(sums.y);
}

// Rows of sums, as gradient_sums_kernel writes one.
struct SumRows {
  const float* rows;
  int64_t count;
};

// Parameters' gradients and factors, from this rank's rows of sums and those of all ranks. The
// kernel computes the shares, because the rows have the numbers of values.
__global__ void __launch_bounds__(kThreads)
    factors_kernel(SumRows own, SumRows all, int64_t channels, ParameterGradients to) {
  wait_for_kernels_before();
  __shared__ double sums[kThreads];
  const int64_t size = 2 * channels + 1;
  const int64_t channel = int64_t{blockIdx.x} * kMergedChannels + threadIdx.x % kMergedChannels;
  const int64_t read = channel < channels ? channel : channels - 1;
  const auto total = [&](const SumRows& of, int64_t place) {
    return sum_over_rows(of.count, sums, [&](int64_t r) { return double{of.rows[r * size + place]}; });
  };
  const double values = total(all, 0);
  const double2 own_sums = {total(own, 1 + read), total(own, 1 + channels + read)};
  const bool is_same = own.rows == all.rows;
  const double2 all_sums = is_same ? own_sums : double2{total(all, 1 + read), total(all, 1 + channels + read)};
  if (channel >= channels || threadIdx.x >= kMergedChannels) return;
  to.share = 1 / values;
  store_gradients(to, channels, channel, to.weight[channel], to.inv_std[channel], own_sums, all_sums);
}

// dx = a dz + b (x - mean) + c. dx may be x or dy.
template <typename T, int V>
__global__ void __launch_bounds__(kBlock, kBlocksEach)
    gradient_kernel(const Pack<T, V>* x, const Pack<T, V>* y, const Pack<T, V>* dy, Pack<T, V>* dx, Tiling t,
                    const float* mean_of, const float* factors) {
  wait_for_kernels_before();
  constexpr int kN = 2;
  const Share s = backwards(share_of(t));
  if (s.count == 0) return;
  LoadedPacks<Pack<T, V>, kN> loaded_x, loaded_y, loaded_dy;
  int64_t at = s.at;
  int left = s.count;
  const auto fetch = [&] {
    loaded_x.load(x, at, s.stride, left);
    loaded_dy.load(dy, at, s.stride, left);
    if (y) loaded_y.load(y, at, s.stride, left);
  };
  fetch();
  float mean[V], a[V], b[V], c[V];
  load_channels(mean, mean_of, s.pack);
  load_channels(a, factors, s.pack);
  load_channels(b, factors + t.channels, s.pack);
  load_channels(c, factors + 2 * int64_t{t.channels}, s.pack);
  for (; left > 0; left -= kN, at += kN * s.stride, fetch()) {
#pragma unroll
    for (int i = 0; i < kN; ++i)
      if (i < left) {
        const Pack<T, V> px = loaded_x[i], py = loaded_y[i], pdy = loaded_dy[i];
        Pack<T, V> result;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const float d = before_relu(pdy, py, y, v);
          result.v[v] = from_float<T>(a[v] * d + b[v] * (to_float(px.v[v]) - mean[v]) + c[v]);
        }
        dx[at + i * s.stride] = result;
      }
  }
}

bool has_mask(const KernelRequest& request) {
  return has_input(request, 4) && input_type(request, 4).dtype == DType::u8;
}

Gaps gaps_of(const Node& node, const Shape& x) { return Gaps(x[2], x[3], addend_stride_of(node)); }

template <typename T, int V>
void launch_sums(const Tiling& t, const GradientImages<Pack<T, V>>& images, const ParameterGradients& to, float2* pairs,
                 unsigned* arrived, float* own_sums, cudaStream_t stream) {
  const auto launch = [&](auto kernel) {
    kernel<<<t.grid(), kBlock, 0, stream>>>(images, t, pairs, arrived, to, own_sums);
  };
  if (!images.more)
    launch(gradient_sums_kernel<T, V, Addend::none>);
  else if (images.gaps)
    launch(gradient_sums_kernel<T, V, Addend::has_gaps>);
  else
    launch(gradient_sums_kernel<T, V, Addend::whole>);
}

// Where dz is wanted, the sums' pass writes it, and the second reads it in place of dy and y.
template <typename T, int V>
std::unique_ptr<Kernel> make_batch_norm2d_gradient(CudaDevice& device, const KernelRequest& request, const Tiling& t) {
  const bool writes_dz = request.node.attributes.flag("residual"),
             has_dbias_too = request.node.attributes.flag("has_dbias_too"), is_mask = has_mask(request);
  const bool adds = has_input(request, 8);
  const Gaps gaps = gaps_of(request.node, input_type(request, 0).shape);
  const auto count = static_cast<double>(t.rows());
  return make_kernel(device, [=, arrived = allocate_arrived(device, request.node, t)](const Arguments& a,
                                                                                      cudaStream_t stream) {
    using P = Pack<T, V>;
    auto* factors = reinterpret_cast<float*>(static_cast<std::byte*>(a.scratch) + t.pairs_bytes());
    float* const dbias_too = has_dbias_too ? a.out<float>(writes_dz ? 4 : 3) : nullptr;
    const ParameterGradients to = {a.in<float>(1),  a.in<float>(2), a.in<float>(3), a.out<float>(1),
                                   a.out<float>(2), dbias_too,      factors,        1 / count};
    const GradientImages images = images_of<P>(a.inputs[0], a.inputs[4], is_mask, a.inputs[5],
                                               adds ? a.inputs[8] : nullptr, writes_dz ? a.outputs[3] : nullptr, gaps);
    launch_sums<T, V>(t, images, to, static_cast<float2*>(a.scratch), reinterpret_cast<unsigned*>(arrived.get()),
                      nullptr, stream);
    gradient_kernel<T, V><<<t.grid(), kBlock, 0, stream>>>(
        images.x, images.dz ? nullptr : images.y, images.dz ? images.dz : images.dy, a.out<P>(0), t, to.mean, factors);
  });
}

template <typename T, int V>
std::unique_ptr<Kernel> make_summed_batch_norm2d_gradient(CudaDevice& device, const KernelRequest& request,
                                                          const Tiling& t) {
  const auto rows_of = [&](size_t i) {
    const Shape& sums = input_type(request, i).shape;
    return sums.rank() == 2 ? sums[0] : 1;
  };
  const int64_t own_rows = rows_of(6), all_rows = rows_of(7);
  const bool has_dbias_too = request.node.attributes.flag("has_dbias_too");
  return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    using P = Pack<T, V>;
    auto* factors = static_cast<float*>(a.scratch);
    const ParameterGradients to = {a.in<float>(1),  a.in<float>(2),
                                   a.in<float>(3),  a.out<float>(1),
                                   a.out<float>(2), has_dbias_too ? a.out<float>(3) : nullptr,
                                   factors,         0};
    factors_kernel<<<blocks_for(t.channels, kMergedChannels), kThreads, 0, stream>>>(
        SumRows{a.in<float>(6), own_rows}, SumRows{a.in<float>(7), all_rows}, t.channels, to);
    gradient_kernel<T, V>
        <<<t.grid(), kBlock, 0, stream>>>(a.in<P>(0), a.in<P>(4), a.in<P>(5), a.out<P>(0), t, to.mean, factors);
  });
}

}  // namespace

GradientSums::GradientSums(CudaDevice& device, const Node& node, const TensorType& x, int64_t rows, bool has_mask) {
  with_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(x.shape[1], [&](auto pack) {
      constexpr int kPack = decltype(pack)::value;
      using P = Pack<T, kPack>;
      const Tiling t(device, x.shape, kPack);
      const Gaps gaps = gaps_of(node, x.shape);
      scratch_bytes_ = t.pairs_bytes();
      const std::shared_ptr<Buffer> arrived = std::make_shared<Buffer>(allocate_arrived(device, node, t));
      launch_ = [=](const Operands& o, float* sums, void* scratch, cudaStream_t stream) {
        ParameterGradients to = {};
        to.mean = o.mean;
        launch_sums<T, kPack>(t, images_of<P>(o.x, o.y, has_mask, o.dy, o.more, o.dz, gaps), to,
                              static_cast<float2*>(scratch), reinterpret_cast<unsigned*>(arrived->get()), sums, stream);
        const int64_t size = 2 * int64_t{t.channels} + 1;
        if (rows > 1)
          check_launch(cudaMemsetAsync(sums + size, 0, static_cast<size_t>((rows - 1) * size) * sizeof(float), stream));
      };
    });
  });
}

KernelChoice select_batch_norm2d_gradient_sums(CudaDevice& device, const KernelRequest& request) {
  const bool writes_dz = request.node.attributes.flag("residual");
  const TensorType& x = input_type(request, 0);
  const GradientSums sums(device, request.node, x, 1, false);
  // All images have one type.
  KernelChoice choice = choose_by_pack(device, request, {2, 3}, [&](auto, auto, const Tiling&) {
    return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
      sums.launch({.x = a.inputs[0],
                   .y = a.inputs[2],
                   .dy = a.inputs[3],
                   .dz = writes_dz ? a.outputs[1] : nullptr,
                   .mean = a.in<float>(1)},
                  a.out<float>(0), a.scratch, stream);
    });
  });
  choice.scratch_bytes = sums.scratch_bytes();
  if (writes_dz) choice.may_share = {{1, 3}};
  return choice;
}

KernelChoice select_batch_norm2d_gradient(CudaDevice& device, const KernelRequest& request) {
  const bool is_summed = has_input(request, 6), has_gaps = addend_stride_of(request.node) > 1;
  size_t scratch_bytes = 0;
  // Images of x's type.
  std::vector<size_t> images = {5};
  if (!has_mask(request)) images.push_back(4);
  if (!has_gaps) images.push_back(8);
  KernelChoice choice = choose_by_pack(device, request, images, [&](auto zero, auto pack, const Tiling& t) {
    scratch_bytes = (is_summed ? 0 : t.pairs_bytes()) + 3 * static_cast<size_t>(t.channels) * sizeof(float);
    return is_summed ? make_summed_batch_norm2d_gradient<decltype(zero), pack>(device, request, t)
                     : make_batch_norm2d_gradient<decltype(zero), pack>(device, request, t);
  });
  if (is_summed) choice.name += "_summed";
  choice.scratch_bytes = scratch_bytes;
  choice.may_share = {{request.node.attributes.flag("residual") ? 3 : 0, 5}};
  if (has_input(request, 8) && !has_gaps) choice.may_share.push_back({3, 8});
  return choice;
}

}  // namespace troika::cuda
