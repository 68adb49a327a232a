// batch_norm2d and its inference form: a launch for the statistics, and one that applies them, with
// residual and ReLU in the same pass. The second goes through the slices from their ends, which the
// caches still hold. With statistics over several ranks the first is a node of its own, and a small
// launch merges what all have found.
#include "backends/cuda/batch_norm2d_passes.h"
#include "backends/cuda/batch_norm2d_statistics.cuh"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "core/text.h"
#include "ops/batch_norm2d.h"

namespace troika::cuda {
namespace {

// Writes the mean and sum of squared differences of a slice's channels to `pairs`
// [slices][channels].
//
// A thread sums x - center; the center is its first value. The center is one of its n values, so
// their squares around it are at most n times those around their mean, however large the mean is.
// This bounds the rounding error. Threads, and then slices, are added in the same way, around the
// mean of the first one (Chan, Golub and LeVeque 1979).
template <typename T, int V>
__global__ void __launch_bounds__(kBlock, kBlocksEach)
    statistics_kernel(const Pack<T, V>* x, Tiling t, float2* pairs, unsigned* arrived, Statistics to, MomentRows own) {
  wait_for_kernels_before();
  constexpr int kN = 4;
  const Share s = share_of(t);
  if (to.batches && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) ++*to.batches;
  const auto values = static_cast<float>(s.count);
  float center[V] = {}, sum[V] = {}, squares[V] = {};
  if (s.count > 0) {
    LoadedPacks<Pack<T, V>, kN> loaded;
    int64_t at = s.at;
    int left = s.count;
    loaded.load(x, at, s.stride, left);
    const Pack<T, V> first = loaded[0];
#pragma unroll
    for (int v = 0; v < V; ++v) center[v] = to_float(first.v[v]);
    for (; left > 0; left -= kN, at += kN * s.stride, loaded.load(x, at, s.stride, left)) {
#pragma unroll
      for (int i = 0; i < kN; ++i)
        if (i < left) {
          const Pack<T, V> p = loaded[i];
#pragma unroll
          for (int v = 0; v < V; ++v) {
            const float d = to_float(p.v[v]) - center[v];
            sum[v] += d;
            squares[v] += d * d;
          }
        }
    }
    const float share = 1 / values;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float offset = sum[v] * share;
      center[v] += offset;  // the mean
      squares[v] -= sum[v] * offset;
    }
  }
  __shared__ float shifts[kMostTile];
  const int first_channel = (s.pack - blockIdx.x * t.lanes) * V;  // of the pack, in the tile
  if (threadIdx.x < t.lanes) {
#pragma unroll
    for (int v = 0; v < V; ++v) shifts[first_channel + v] = center[v];
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const float d = center[v] - shifts[first_channel + v];
    sum[v] = s.count > 0 ? values * d : 0;
    squares[v] += sum[v] * d;
  }

  const int width = t.lanes * V, channel = blockIdx.x * width + threadIdx.x;
  const bool has_channel = threadIdx.x < width && channel < t.channels;
  const float2 total = sum_rows(t, sum, squares);
  if (has_channel) {
    const float offset = total.x / static_cast<float>(t.rows_of(blockIdx.y));
    pairs[int64_t{blockIdx.y} * t.channels + channel] = {shifts[threadIdx.x] + offset, total.y - total.x * offset};
  }
  if (!is_last_of_tile(arrived, has_channel)) return;

  const Running before = has_channel ? load_running(to, channel) : Running{0, 0};
  const float shift = __ldcg(&pairs[min(blockIdx.x * width + threadIdx.x % width, t.channels - 1)]).x;
  const double2 sums = fold_slices(t, pairs, width, [&](float2 p, int slice) {
    const float d = p.x - shift, weighted = static_cast<float>(t.rows_of(slice)) * d;
    return float2{weighted, p.y + weighted * d};
  });
  if (!has_channel) return;
  const double offset = sums.x * to.share, mean = shift + offset;
  const double difference = sums.y - sums.x * offset, around_mean = difference < 0 ? 0 : difference;  // NaN stays
  if (own.rows)
    store_moments(own, t, channel, mean, around_mean);
  else
    store_statistics(to, channel, mean, around_mean, before);
}

// Merges the moments in rows {values a channel, means [channels], sums of squared differences
// [channels]}: of ranks, or of parts of one rank's images. A row of no values counts for nothing.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(const float* rows, int64_t count_of_rows, int64_t channels, Statistics to) {
  wait_for_kernels_before();
  __shared__ double sums[kThreads];
  if (to.batches && blockIdx.x == 0 && threadIdx.x == 0) ++*to.batches;
  const int64_t size = 2 * channels + 1;
  const int64_t channel = int64_t{blockIdx.x} * kMergedChannels + threadIdx.x % kMergedChannels;
  const int64_t read = channel < channels ? channel : channels - 1;
  const float *const means = rows + 1 + read, *const squares_of = means + channels;
  const double count = sum_over_rows(count_of_rows, sums, [&](int64_t r) { return double{rows[r * size]}; });
  const double mean =
      sum_over_rows(count_of_rows, sums, [&](int64_t r) { return double{rows[r * size]} * means[r * size]; }) / count;
  const double squares = sum_over_rows(count_of_rows, sums, [&](int64_t r) {
    const double difference = means[r * size] - mean;
    return squares_of[r * size] + rows[r * size] * difference * difference;
  });
  if (channel >= channels || threadIdx.x >= kMergedChannels) return;
  to.share = 1 / count;
  to.unbiased_share = count > 1 ? 1 / (count - 1) : 1;
  store_statistics(to, channel, mean, squares, load_running(to, channel));
}

// The factors that turn x into xhat * weight + bias, [channels] each.
struct Affine {
  const float *mean, *spread, *weight, *bias;
  bool has_variance;  // `spread` is the variance, else 1 / standard deviation
  float eps;
};

// y = (x - mean) * scale + bias, plus the residual if there is one, cut at 0 if `relu`. The
// difference comes first: it is small, and its rounding decides on which side of a ReLU a value
// falls. y may be x or the residual. Unless `mask` is null, writes the mask of the ReLU, a byte for
// each pack of 8.
template <typename T, int V>
__global__ void __launch_bounds__(kBlock, kBlocksEach)
    normalize_kernel(const Pack<T, V>* x, const Pack<T, V>* residual, Pack<T, V>* y, uint8_t* mask, Tiling t, Affine f,
                     bool relu) {
  wait_for_kernels_before();
  constexpr int kN = 4;
  const Share s = backwards(share_of(t));
  if (s.count == 0) return;
  LoadedPacks<Pack<T, V>, kN> loaded, loaded_residual;
  int64_t at = s.at;
  int left = s.count;
  const auto fetch = [&] {
    loaded.load(x, at, s.stride, left);
    if (residual) loaded_residual.load(residual, at, s.stride, left);
  };
  fetch();
  float mean[V], scale[V], weight[V], bias[V];
  load_channels(mean, f.mean, s.pack);
  load_channels(scale, f.spread, s.pack);
  load_channels(weight, f.weight, s.pack);
  load_channels(bias, f.bias, s.pack);
#pragma unroll
  for (int v = 0; v < V; ++v) scale[v] = weight[v] * (f.has_variance ? 1 / sqrtf(scale[v] + f.eps) : scale[v]);
  const float least = relu ? 0 : -INFINITY;
  for (; left > 0; left -= kN, at += kN * s.stride, fetch()) {
#pragma unroll
    for (int i = 0; i < kN; ++i)
      if (i < left) {
        const Pack<T, V> p = loaded[i], r = loaded_residual[i];
        Pack<T, V> result;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          float value = (to_float(p.v[v]) - mean[v]) * scale[v] + bias[v];
          if (residual) value += to_float(r.v[v]);
          result.v[v] = from_float<T>(value < least ? least : value);
        }
        y[at + i * s.stride] = result;
        if (V == 8 && mask) mask[at + i * s.stride] = relu_mask(result);
      }
  }
}

// Returns the place of the mask, if the node writes one.
uint8_t* mask_of(const Arguments& a, bool has_mask) { return has_mask ? a.out<uint8_t>(3) : nullptr; }

// Without shares.
Statistics statistics_to(const Arguments& a, double eps, double momentum) {
  return {a.out<float>(1),
          a.out<float>(2),
          static_cast<float*>(a.inputs[3]),
          static_cast<float*>(a.inputs[4]),
          static_cast<int64_t*>(a.inputs[5]),
          eps,
          momentum,
          0,
          0,
          a.inputs.size() > 8 ? a.in<float>(8) : nullptr};
}

template <typename T, int V>
std::unique_ptr<Kernel> make_batch_norm2d(CudaDevice& device, const KernelRequest& request, const Tiling& t) {
  const Attributes& attributes = request.node.attributes;
  const double eps = attributes.real("eps"), momentum = attributes.real("momentum");
  const bool relu = attributes.flag("relu"), has_mask = attributes.flag("mask");
  const auto count = static_cast<double>(t.rows());
  return make_kernel(device, [=, arrived = allocate_arrived(device, request.node, t)](const Arguments& a,
                                                                                      cudaStream_t stream) {
    using P = Pack<T, V>;
    Statistics to = statistics_to(a, eps, momentum);
    to.share = 1 / count;
    to.unbiased_share = 1 / (count - 1);
    const Affine f = {to.mean, to.inv_std, a.in<float>(1), a.in<float>(2), false, 0};
    statistics_kernel<T, V><<<t.grid(), kBlock, 0, stream>>>(
        a.in<P>(0), t, static_cast<float2*>(a.scratch), reinterpret_cast<unsigned*>(arrived.get()), to, MomentRows{});
    normalize_kernel<T, V>
        <<<t.grid(), kBlock, 0, stream>>>(a.in<P>(0), a.in<P>(6), a.out<P>(0), mask_of(a, has_mask), t, f, relu);
  });
}

template <typename T, int V>
std::unique_ptr<Kernel> make_merged_batch_norm2d(CudaDevice& device, const KernelRequest& request, const Tiling& t) {
  const Attributes& attributes = request.node.attributes;
  const double eps = attributes.real("eps"), momentum = attributes.real("momentum");
  const bool relu = attributes.flag("relu"), has_mask = attributes.flag("mask");
  const bool skips_y = attributes.flag("skips_y");
  const int64_t rows = input_type(request, 7).shape[0];
  return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    using P = Pack<T, V>;
    const Statistics to = statistics_to(a, eps, momentum);
    const Affine f = {to.mean, to.inv_std, a.in<float>(1), a.in<float>(2), false, 0};
    merge_kernel<<<blocks_for(t.channels, kMergedChannels), kThreads, 0, stream>>>(a.in<float>(7), rows, t.channels,
                                                                                   to);
    if (skips_y) return;
    normalize_kernel<T, V>
        <<<t.grid(), kBlock, 0, stream>>>(a.in<P>(0), a.in<P>(6), a.out<P>(0), mask_of(a, has_mask), t, f, relu);
  });
}

template <typename T, int V>
std::unique_ptr<Kernel> make_batch_norm2d_inference(CudaDevice& device, const KernelRequest& request, const Tiling& t) {
  const auto eps = static_cast<float>(request.node.attributes.real("eps"));
  const bool relu = request.node.attributes.flag("relu");
  return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    using P = Pack<T, V>;
    const Affine f = {a.in<float>(3), a.in<float>(4), a.in<float>(1), a.in<float>(2), true, eps};
    normalize_kernel<T, V><<<t.grid(), kBlock, 0, stream>>>(a.in<P>(0), a.in<P>(6), a.out<P>(0), nullptr, t, f, relu);
  });
}

}  // namespace

Moments::Moments(CudaDevice& device, const Node& node, const TensorType& x, int64_t rank, int64_t rows) {
  with_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(x.shape[1], [&](auto pack) {
      constexpr int kPack = decltype(pack)::value;
      const Tiling t(device, x.shape, kPack);
      pack_ = kPack;
      scratch_bytes_ = t.pairs_bytes();
      Statistics to = {};  // nowhere
      to.share = 1 / static_cast<double>(t.rows());
      const std::shared_ptr<Buffer> arrived = std::make_shared<Buffer>(allocate_arrived(device, node, t));
      launch_ = [=](const void* from, float* moments, void* scratch, cudaStream_t stream) {
        statistics_kernel<T, kPack><<<t.grid(), kBlock, 0, stream>>>(
            static_cast<const Pack<T, kPack>*>(from), t, static_cast<float2*>(scratch),
            reinterpret_cast<unsigned*>(arrived->get()), to, MomentRows{moments, rank, rows});
      };
    });
  });
}

NormalizeRelu normalize_relu(const CudaDevice& device, const TensorType& x) {
  return with_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    return with_pack<T>(x.shape[1], [&](auto pack) -> NormalizeRelu {
      using P = Pack<T, decltype(pack)::value>;
      return [t = Tiling(device, x.shape, pack)](const void* from, const float* mean, const float* inv_std,
                                                 const float* weight, const float* bias, void* y, cudaStream_t stream) {
        normalize_kernel<T, decltype(pack)::value>
            <<<t.grid(), kBlock, 0, stream>>>(static_cast<const P*>(from), nullptr, static_cast<P*>(y), nullptr, t,
                                              Affine{mean, inv_std, weight, bias, false, 0}, true);
      };
    });
  });
}

KernelChoice select_batch_norm2d_moments(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Moments moments(device, request.node, input_type(request, 0), attributes.integer("rank"),
                        attributes.integer("ranks"));
  KernelChoice choice = nhwc_choice(request, text("cuda:own:nhwc_vec", moments.pack()),
                                    make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
                                      moments.launch(a.inputs[0], a.out<float>(0), a.scratch, stream);
                                    }));
  choice.scratch_bytes = moments.scratch_bytes();
  return choice;
}

KernelChoice select_batch_norm2d(CudaDevice& device, const KernelRequest& request) {
  const Shape& x = input_type(request, 0).shape;
  const bool is_merged = has_input(request, 7);
  if (!is_merged && x[0] * x[2] * x[3] == 1)
    throw Error(Status::invalid_argument, text("batch_norm2d '", request.node.name, "' on ", device.id(),
                                               ": training needs more than 1 value a channel, this device's shard of ",
                                               x, " has 1; use a larger batch, fewer devices or micro-batches"));
  size_t scratch_bytes = 0;
  KernelChoice choice = choose_by_pack(device, request, {6}, [&](auto zero, auto pack, const Tiling& t) {
    if (is_merged) return make_merged_batch_norm2d<decltype(zero), pack>(device, request, t);
    scratch_bytes = t.pairs_bytes();
    return make_batch_norm2d<decltype(zero), pack>(device, request, t);
  });
  if (is_merged) choice.name += "_merged";
  if (request.node.attributes.flag("skips_y")) {
    if (!is_merged) throw Error(Status::internal, "a batch_norm2d that skips y needs moments");
    choice.name += "_alone";
    choice.unused_inputs = {batch_norm2d::x};
    choice.unused_outputs = {batch_norm2d::y};
  }
  choice.scratch_bytes = scratch_bytes;
  if (has_input(request, 6)) choice.may_share = {{0, 6}};
  return choice;
}

KernelChoice select_batch_norm2d_inference(CudaDevice& device, const KernelRequest& request) {
  KernelChoice choice = choose_by_pack(device, request, {6}, [&](auto zero, auto pack, const Tiling& t) {
    return make_batch_norm2d_inference<decltype(zero), pack>(device, request, t);
  });
  choice.may_share = {{0, 0}, {0, 6}};
  return choice;
}

}  // namespace troika::cuda
