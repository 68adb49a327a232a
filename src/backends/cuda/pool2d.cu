// Max, average and adaptive average pooling and their gradients. A thread gathers what its pixel is
// made of, in gradients too, so that every sum has its order.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/loaded_packs.cuh"
#include "backends/cuda/pool_windows.cuh"

namespace troika::cuda {
namespace {

constexpr int kAhead = 4;  // pixels of a window's row that are loaded together

// Rounds a gradient, and applies that of the ReLU that made y, unless y is null. NaN lets it pass.
template <typename T, int V>
__device__ inline Pack<T, V> rounded_gradient(const float (&sum)[V], const Pack<T, V>* y) {
  Pack<T, V> result, relu = {};
  if (y) relu = *y;
#pragma unroll
  for (int v = 0; v < V; ++v) result.v[v] = from_float<T>(y && to_float(relu.v[v]) <= 0 ? 0 : sum[v]);
  return result;
}

// Places of maxima are those in the window, padding included.
template <typename T, int V, typename P>
__global__ void __launch_bounds__(kThreads)
    max_pool_kernel(const Pack<T, V>* x, Pack<T, V>* y, Pack<P, V>* places, Windows w) {
  wait_for_kernels_before();
  const int image = w.h.in * w.w.in * w.packs.by(), out_image = w.h.out * w.w.out * w.packs.by();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out_image) return;
  const Place to(i, w.packs, w.out_columns);
  const Span rows = w.h.covered(to.row), columns = w.w.covered(to.column);
  const int top = to.row * w.h.stride.by() - w.h.padding, left = to.column * w.w.stride.by() - w.w.padding;
  for (int64_t n = blockIdx.y; n < w.samples; n += gridDim.y) {
    const Pack<T, V>* from = x + n * image + to.pack;
    // Among equal numbers the first counts, among NaNs the last, as in PyTorch.
    float best[V];
    int place[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      best[v] = -INFINITY;
      place[v] = (rows.begin - top) * w.w.kernel + columns.begin - left;
    }
    for (int row = rows.begin; row < rows.end; ++row)
      for (int column = columns.begin; column < columns.end; column += kAhead) {
        LoadedPacks<Pack<T, V>, kAhead> loaded;
        loaded.load(from, (row * w.w.in + column) * w.packs.by(), w.packs.by(), columns.end - column);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (column + k >= columns.end) break;
          const Pack<T, V> p = loaded[k];
          const int here = (row - top) * w.w.kernel + column + k - left;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            const float value = to_float(p.v[v]);
            if (value > best[v] || value != value) best[v] = value, place[v] = here;
          }
        }
      }
    Pack<T, V> most;
    Pack<P, V> where;
#pragma unroll
    for (int v = 0; v < V; ++v) most.v[v] = from_float<T>(best[v]), where.v[v] = static_cast<P>(place[v]);
    y[n * out_image + i] = most;
    places[n * out_image + i] = where;
  }
}

template <typename T, int V, typename P>
__global__ void __launch_bounds__(kThreads) max_pool_gradient_kernel(const Pack<P, V>* places, const Pack<T, V>* dy,
                                                                     const Pack<T, V>* y, Pack<T, V>* dx, Windows w) {
  wait_for_kernels_before();
  const int image = w.h.in * w.w.in * w.packs.by(), out_image = w.h.out * w.w.out * w.packs.by();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= image) return;
  const Place to(i, w.packs, w.in_columns);
  const Span rows = w.h.windows(to.row), columns = w.w.windows(to.column);
  for (int64_t n = blockIdx.y; n < w.samples; n += gridDim.y) {
    const int64_t at = n * out_image + to.pack;
    float sum[V] = {};
    for (int row = rows.begin; row < rows.end; ++row)
      for (int column = columns.begin; column < columns.end; ++column) {
        const int window = (row * w.w.out + column) * w.packs.by();
        const Pack<P, V> where = places[at + window];
        const Pack<T, V> d = dy[at + window];
        const int here = (to.row + w.h.padding - row * w.h.stride.by()) * w.w.kernel + to.column + w.w.padding -
                         column * w.w.stride.by();
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (static_cast<int>(where.v[v]) == here) sum[v] += to_float(d.v[v]);
      }
    dx[n * image + i] = rounded_gradient(sum, y ? y + n * image + i : nullptr);
  }
}

// `kDown` times `kAcross` threads share a window: those of one threadIdx.x.
template <typename T, int V, int kDown, int kAcross>
__global__ void __launch_bounds__(kThreads) average_kernel(const Pack<T, V>* x, Pack<T, V>* y, Windows w) {
  wait_for_kernels_before();
  constexpr int kShare = kDown * kAcross;
  const int image = w.h.in * w.w.in * w.packs.by(), out_image = w.h.out * w.w.out * w.packs.by();
  const int own = blockIdx.x * blockDim.x + threadIdx.x, i = min(own, out_image - 1);
  const Place to(i, w.packs, w.out_columns);
  const Span rows = w.h.covered(to.row), columns = w.w.covered(to.column);
  const int down = threadIdx.y / kAcross, across = threadIdx.y % kAcross;
  for (int64_t n = blockIdx.y; n < w.samples; n += gridDim.y) {
    const Pack<T, V>* from = x + n * image + to.pack;
    float sum[V] = {};
    for (int row = rows.begin + down; row < rows.end; row += kDown)
      for (int column = columns.begin + across; column < columns.end; column += kAhead * kAcross) {
        const int left = (columns.end - column - 1) / kAcross + 1;
        LoadedPacks<Pack<T, V>, kAhead> loaded;
        loaded.load(from, (row * w.w.in + column) * w.packs.by(), kAcross * w.packs.by(), left);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (k >= left) break;
          const Pack<T, V> p = loaded[k];
#pragma unroll
          for (int v = 0; v < V; ++v) sum[v] += to_float(p.v[v]);
        }
      }
    if constexpr (kShare > 1) {
      __shared__ float parts[V][kShare][kThreads / kShare];
#pragma unroll
      for (int v = 0; v < V; ++v) parts[v][threadIdx.y][threadIdx.x] = sum[v];
      __syncthreads();
#pragma unroll
      for (int v = 0; v < V; ++v) {
        sum[v] = 0;
        if (threadIdx.y == 0)
#pragma unroll
          for (int k = 0; k < kShare; ++k) sum[v] += parts[v][k][threadIdx.x];
      }
      __syncthreads();
    }
    if (own >= out_image || threadIdx.y > 0) continue;
    Pack<T, V> result;
#pragma unroll
    for (int v = 0; v < V; ++v) result.v[v] = from_float<T>(sum[v] * w.weight(rows, columns));
    y[n * out_image + i] = result;
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    average_gradient_kernel(const Pack<T, V>* dy, const Pack<T, V>* y, Pack<T, V>* dx, Windows w) {
  wait_for_kernels_before();
  const int image = w.h.in * w.w.in * w.packs.by(), out_image = w.h.out * w.w.out * w.packs.by();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= image) return;
  const Place to(i, w.packs, w.in_columns);
  const Span rows = w.h.windows(to.row), columns = w.w.windows(to.column);
  const int64_t step = gridDim.y;
  if (rows.size() == 1 && columns.size() == 1) {  // the rule: then the weight is the same for all samples
    const float weight = w.weight(w.h.covered(rows.begin), w.w.covered(columns.begin));
    const int window = (rows.begin * w.w.out + columns.begin) * w.packs.by() + to.pack;
    for (int64_t n = blockIdx.y; n < w.samples; n += kAhead * step) {
      int left = 0;
#pragma unroll
      for (int k = 0; k < kAhead; ++k) left += n + k * step < w.samples ? 1 : 0;
      LoadedPacks<Pack<T, V>, kAhead> loaded, relus;
      loaded.load(dy, n * out_image + window, step * out_image, left);
      if (y) relus.load(y, n * image + i, step * image, left);
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (k >= left) break;
        const Pack<T, V> p = loaded[k];
        float sum[V];
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] = weight * to_float(p.v[v]);
        const Pack<T, V> relu = y ? relus[k] : Pack<T, V>{};
        dx[(n + k * step) * image + i] = rounded_gradient(sum, y ? &relu : nullptr);
      }
    }
    return;
  }
  for (int64_t n = blockIdx.y; n < w.samples; n += step) {
    const Pack<T, V>* from = dy + n * out_image + to.pack;
    float sum[V] = {};
    for (int row = rows.begin; row < rows.end; ++row) {
      const Span covered_rows = w.h.covered(row);
      for (int column = columns.begin; column < columns.end; ++column) {
        const float weight = w.weight(covered_rows, w.w.covered(column));
        const Pack<T, V> p = from[(row * w.w.out + column) * w.packs.by()];
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] += weight * to_float(p.v[v]);
      }
    }
    dx[n * image + i] = rounded_gradient(sum, y ? y + n * image + i : nullptr);
  }
}

// Where maxima stood, in one byte each: windows have at most 256 places. [n, h, w, c].
class PlacesLayout : public Layout {
 public:
  explicit PlacesLayout(Shape shape) : shape_(std::move(shape)) {}
  size_t bytes() const override { return static_cast<size_t>(shape_.elements()); }
  bool equals(const Layout& other) const override {
    auto* o = dynamic_cast<const PlacesLayout*>(&other);
    return o && o->shape_ == shape_;
  }
  std::string name() const override { return "nhwc_u8"; }

 private:
  Shape shape_;
};

bool fits_byte(const Node& node) {
  const Window window = Window::of(node);
  return window.kernel[0] * window.kernel[1] <= 256;
}

template <typename T, int V, typename P>
std::unique_ptr<Kernel> make_max_pool(const CudaDevice& device, const Windows& w) {
  return make_kernel(device, [w](const Arguments& a, cudaStream_t stream) {
    using Images = Pack<T, V>;
    const int64_t packs = int64_t{w.h.out} * w.w.out * w.packs.by();
    const dim3 block = block_of(packs, 1);
    max_pool_kernel<T, V, P><<<grid_of(packs, block, w.samples), block, 0, stream>>>(a.in<Images>(0), a.out<Images>(0),
                                                                                     a.out<Pack<P, V>>(1), w);
  });
}

template <typename T, int V, typename P>
std::unique_ptr<Kernel> make_max_pool_gradient(const CudaDevice& device, const Windows& w) {
  return make_kernel(device, [w](const Arguments& a, cudaStream_t stream) {
    using Images = Pack<T, V>;
    const int64_t packs = int64_t{w.h.in} * w.w.in * w.packs.by();
    const dim3 block = block_of(packs, 1);
    max_pool_gradient_kernel<T, V, P><<<grid_of(packs, block, w.samples), block, 0, stream>>>(
        a.in<Pack<P, V>>(0), a.in<Images>(1), a.inputs.size() > 2 ? a.in<Images>(2) : nullptr, a.out<Images>(0), w);
  });
}

// Threads share windows that are large, of which there are few.
template <typename T, int V>
std::unique_ptr<Kernel> make_average(const CudaDevice& device, const Windows& w) {
  constexpr int kDown = 2, kAcross = 4;
  const int64_t window = w.h.kernel ? int64_t{w.h.kernel} * w.w.kernel : int64_t{w.h.in / w.h.out} * (w.w.in / w.w.out);
  const bool shares = window >= 2 * kDown * kAcross;
  return make_kernel(device, [w, shares](const Arguments& a, cudaStream_t stream) {
    using Images = Pack<T, V>;
    const int64_t packs = int64_t{w.h.out} * w.w.out * w.packs.by();
    const dim3 block = block_of(packs, shares ? kDown * kAcross : 1), grid = grid_of(packs, block, w.samples);
    const auto kernel = shares ? average_kernel<T, V, kDown, kAcross> : average_kernel<T, V, 1, 1>;
    kernel<<<grid, block, 0, stream>>>(a.in<Images>(0), a.out<Images>(0), w);
  });
}

template <typename T, int V>
std::unique_ptr<Kernel> make_average_gradient(const CudaDevice& device, const Windows& w) {
  return make_kernel(device, [w](const Arguments& a, cudaStream_t stream) {
    using Images = Pack<T, V>;
    const int64_t packs = int64_t{w.h.in} * w.w.in * w.packs.by();
    const dim3 block = block_of(packs, 1);
    average_gradient_kernel<T, V><<<grid_of(packs, block, w.samples), block, 0, stream>>>(
        a.in<Images>(0), a.inputs.size() > 1 ? a.in<Images>(1) : nullptr, a.out<Images>(0), w);
  });
}

KernelChoice choose_average(CudaDevice& device, const KernelRequest& request) {
  return choose_by_pack(
      request, input_type(request, 0), output_type(request, 0).shape,
      [&](auto zero, auto pack, const Windows& w) { return make_average<decltype(zero), pack>(device, w); });
}

KernelChoice choose_average_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_by_pack(
      request, output_type(request, 0), input_type(request, 0).shape,
      [&](auto zero, auto pack, const Windows& w) { return make_average_gradient<decltype(zero), pack>(device, w); });
}

}  // namespace

KernelChoice select_max_pool2d(CudaDevice& device, const KernelRequest& request) {
  const Shape& y = output_type(request, 0).shape;
  const bool is_byte = fits_byte(request.node);
  KernelChoice choice = choose_by_pack(request, input_type(request, 0), y, [&](auto zero, auto pack, const Windows& w) {
    using T = decltype(zero);
    return is_byte ? make_max_pool<T, pack, uint8_t>(device, w) : make_max_pool<T, pack, int32_t>(device, w);
  });
  if (is_byte) choice.output_layouts[1] = std::make_shared<PlacesLayout>(y);
  return choice;
}

KernelChoice select_max_pool2d_gradient(CudaDevice& device, const KernelRequest& request) {
  const Shape& y = input_type(request, 1).shape;
  const bool is_byte = fits_byte(request.node);
  KernelChoice choice =
      choose_by_pack(request, output_type(request, 0), y, [&](auto zero, auto pack, const Windows& w) {
        using T = decltype(zero);
        return is_byte ? make_max_pool_gradient<T, pack, uint8_t>(device, w)
                       : make_max_pool_gradient<T, pack, int32_t>(device, w);
      });
  if (is_byte) choice.input_layouts[0] = std::make_shared<PlacesLayout>(y);
  return choice;
}

KernelChoice select_avg_pool2d(CudaDevice& device, const KernelRequest& request) {
  return choose_average(device, request);
}
KernelChoice select_avg_pool2d_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_average_gradient(device, request);
}
KernelChoice select_adaptive_avg_pool2d(CudaDevice& device, const KernelRequest& request) {
  return choose_average(device, request);
}
KernelChoice select_adaptive_avg_pool2d_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_average_gradient(device, request);
}

}  // namespace troika::cuda
