// Windows over images stored channels last, as kernels walk them: each thread has one pack of
// channels of one pixel.
#pragma once

#include "backends/cuda/divisor.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pack_width.cuh"
#include "core/text.h"
#include "ops/window.h"

namespace troika::cuda {

struct Span {
  int begin, end;
  __device__ int size() const { return end - begin; }
};

// Windows along the height or the width of an image: they slide, or, if `kernel` is 0, cut the axis
// into `out` parts.
struct Axis {
  int in, out, kernel, padding;
  Divisor stride;

  // Returns the span of window `i`, without padding.
  __device__ Span covered(int i) const {
    if (kernel == 0) return cut(i, in, out);
    const int begin = i * stride.by() - padding;
    return {max(begin, 0), min(begin + kernel, in)};
  }

  // Returns the windows that cover pixel `i`. For a cut axis these are what the pixel would cover
  // with swapped sizes.
  __device__ Span windows(int i) const {
    if (kernel == 0) return cut(i, out, in);
    const int place = i + padding;  // in a window that begins at 0
    return {place < kernel ? 0 : stride.divide(place - kernel) + 1, min(stride.divide(place) + 1, out)};
  }

 private:
  // floor(i of / parts) to ceil((i + 1) of / parts).
  __device__ static Span cut(int i, int of, int parts) { return {i * of / parts, ((i + 1) * of + parts - 1) / parts}; }
};

struct Windows {
  Axis h, w;
  Divisor packs;  // of a pixel
  Divisor in_columns, out_columns;
  bool counts_padding;  // in a mean
  int64_t samples;

  __device__ float weight(const Span& rows, const Span& columns) const {
    return 1.0f / static_cast<float>(counts_padding ? h.kernel * w.kernel : rows.size() * columns.size());
  }
};

// The pack, column and row of an image's pack `i`.
struct Place {
  int pack, column, row;
  __device__ Place(int i, const Divisor& packs, const Divisor& columns) {
    const int pixel = packs.divide(i);
    pack = i - pixel * packs.by();
    row = columns.divide(pixel);
    column = pixel - row * columns.by();
  }
};

// Blocks of threads for an image's `packs`, each of which `shared_by` threads make, and a grid of
// them with rows for the samples: as many as fill a GPU, so that a thread finds its place in the
// image once for several samples.
inline dim3 block_of(int64_t packs, int shared_by) {
  const int64_t warps = (packs + 31) / 32, most = kThreads / 32 / shared_by;
  return dim3(static_cast<unsigned>(32 * std::min(warps, most)), static_cast<unsigned>(shared_by));
}
inline dim3 grid_of(int64_t packs, const dim3& block, int64_t samples) {
  constexpr int64_t kFills = 2048, kMostRows = 65535;
  const int64_t columns = (packs + block.x - 1) / block.x, rows = std::clamp<int64_t>(kFills / columns, 1, kMostRows);
  return dim3(static_cast<unsigned>(columns), static_cast<unsigned>(std::min(samples, rows)));
}

// Returns the windows of a node over images x [n, c, h, w] that make y; adaptive if the node has no
// kernel.
inline Windows windows_of(const Node& node, const Shape& x, const Shape& y, int pack) {
  Windows w{};
  Axis* axes[] = {&w.h, &w.w};
  for (int i = 0; i < 2; ++i) {
    axes[i]->in = static_cast<int>(x[i + 2]);
    axes[i]->out = static_cast<int>(y[i + 2]);
    if (!node.attributes.has("kernel")) continue;
    const Window window = Window::of(node);
    axes[i]->kernel = static_cast<int>(window.kernel[i]);
    axes[i]->stride = Divisor(static_cast<int>(window.stride[i]));
    axes[i]->padding = static_cast<int>(window.padding[i]);
  }
  w.packs = Divisor(static_cast<int>(x[1] / pack));
  w.in_columns = Divisor(w.w.in);
  w.out_columns = Divisor(w.w.out);
  w.counts_padding = node.attributes.flag("count_include_pad");
  w.samples = x[0];
  return w;
}

// Places inside an image and inside a window are 32 bits, and so are the products that a cut needs.
inline void check_sizes(const Node& node, const Shape& x, const Shape& y) {
  constexpr int64_t kMost = INT32_MAX - kThreads;
  const auto check = [&](const char* what, int64_t size) {
    if (size > kMost)
      throw Error(Status::unsupported,
                  text(node.op, " '", node.name, "': ", what, " is ", size, ", on a GPU needs at most ", kMost));
  };
  check("an input image's size", x.elements() / x[0]);
  check("an output image's size", y.elements() / y[0]);
  if (node.attributes.has("kernel")) {
    const Window window = Window::of(node);
    check("a window's size", window.kernel[0] * window.kernel[1]);
  } else {
    for (int axis : {2, 3}) check("input times output size", (x[axis] + 1) * (y[axis] + 1));
  }
}

// Asks make(T{}, V, windows) for a kernel over packs of V elements of type T. Windows cover the
// images x, and each window makes one pixel of y.
template <typename Make>
KernelChoice choose_by_pack(const KernelRequest& request, const TensorType& x, const Shape& y, Make make) {
  check_sizes(request.node, x.shape, y);
  return with_type(x.dtype, [&](auto zero) {
    return with_pack<decltype(zero)>(x.shape[1], [&](auto pack) {
      return nhwc_choice(request, text("cuda:own:nhwc_vec", pack()),
                         make(zero, pack, windows_of(request.node, x.shape, y, pack)));
    });
  });
}

}  // namespace troika::cuda
