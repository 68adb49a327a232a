// batch_norm2d, its gradient and its inference form: own loops, with residual and ReLU in the same pass.
//
// An image is cut into chunks, one for each (sample, channel block): [spatial][block] floats that lie together. Loops run over
// 16 lanes, lane l standing for channel l % block, whatever the block (1, 4, 8 or 16). Sums of a chunk are single
// precision, those over chunks double, in a fixed order: the result does not depend on the number of threads.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kLanes = 16;

// sums[l] += v[i], l = i % 16.
TROIKA_VECTORIZE void sum_lanes(const float* v, int64_t m, float* sums) {
  float lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= m; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lane[l] += v[i + l];
  for (int64_t l = 0; i < m; ++i, ++l) lane[l] += v[i];
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = lane[l];
}

// sums[l] = sum of (v[i] - center[l])^2.
TROIKA_VECTORIZE void square_lanes(const float* v, int64_t m, const float* center, float* sums) {
  float lane[kLanes] = {}, c[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) c[l] = center[l];
  int64_t i = 0;
  for (; i + kLanes <= m; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) {
      const float d = v[i + l] - c[l];
      lane[l] += d * d;
    }
  for (int64_t l = 0; i < m; ++i, ++l) {
    const float d = v[i] - c[l];
    lane[l] += d * d;
  }
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = lane[l];
}

// y = (x - mean) * scale + bias, plus the residual where there is one, cut at 0 where `relu`. The difference first: it is
// what is small, and its rounding decides on which side of a ReLU a value falls.
TROIKA_VECTORIZE void apply(const float* x, const float* residual, float* y, int64_t m, const float* mean,
                            const float* scale, const float* bias, bool relu) {
  float mu[kLanes], a[kLanes], b[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) mu[l] = mean[l], a[l] = scale[l], b[l] = bias[l];
  const float least = relu ? 0.0f : -INFINITY;
  int64_t i = 0;
  if (residual) {
    for (; i + kLanes <= m; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float v = (x[i + l] - mu[l]) * a[l] + b[l] + residual[i + l];
        y[i + l] = v < least ? least : v;
      }
    for (int64_t l = 0; i < m; ++i, ++l) {
      const float v = (x[i] - mu[l]) * a[l] + b[l] + residual[i];
      y[i] = v < least ? least : v;
    }
    return;
  }
  for (; i + kLanes <= m; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) {
      const float v = (x[i + l] - mu[l]) * a[l] + b[l];
      y[i + l] = v < least ? least : v;
    }
  for (int64_t l = 0; i < m; ++i, ++l) {
    const float v = (x[i] - mu[l]) * a[l] + b[l];
    y[i] = v < least ? least : v;
  }
}

// dz = dy where y > 0 (y null: everywhere), written where `dz` is given; sums[l] of dz and products[l] of dz * (x - mean).
TROIKA_VECTORIZE void gradient_sums(const float* x, const float* y, const float* dy, float* dz, int64_t m,
                                    const float* mean, float* sums, float* products) {
  float s[kLanes] = {}, p[kLanes] = {}, c[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) c[l] = mean[l];
  int64_t i = 0;
  if (!y) {
    for (; i + kLanes <= m; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) {
        s[l] += dy[i + l];
        p[l] += dy[i + l] * (x[i + l] - c[l]);
      }
    for (int64_t l = 0; i < m; ++i, ++l) {
      s[l] += dy[i];
      p[l] += dy[i] * (x[i] - c[l]);
    }
  } else if (!dz) {
    for (; i + kLanes <= m; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float d = y[i + l] <= 0 ? 0.0f : dy[i + l];
        s[l] += d;
        p[l] += d * (x[i + l] - c[l]);
      }
    for (int64_t l = 0; i < m; ++i, ++l) {
      const float d = y[i] <= 0 ? 0.0f : dy[i];
      s[l] += d;
      p[l] += d * (x[i] - c[l]);
    }
  } else {
    for (; i + kLanes <= m; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float d = y[i + l] <= 0 ? 0.0f : dy[i + l];
        dz[i + l] = d;
        s[l] += d;
        p[l] += d * (x[i + l] - c[l]);
      }
    for (int64_t l = 0; i < m; ++i, ++l) {
      const float d = y[i] <= 0 ? 0.0f : dy[i];
      dz[i] = d;
      s[l] += d;
      p[l] += d * (x[i] - c[l]);
    }
  }
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = s[l], products[l] = p[l];
}

// dx = a * dz + b * (x - mean) + c, with dz = dy where y > 0 (y null: everywhere).
TROIKA_VECTORIZE void apply_gradient(const float* x, const float* y, const float* dy, float* dx, int64_t m,
                                     const float* mean, const float* a, const float* b, const float* c) {
  float mu[kLanes], fa[kLanes], fb[kLanes], fc[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) mu[l] = mean[l], fa[l] = a[l], fb[l] = b[l], fc[l] = c[l];
  int64_t i = 0;
  if (y) {
    for (; i + kLanes <= m; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float d = y[i + l] <= 0 ? 0.0f : dy[i + l];
        dx[i + l] = fa[l] * d + fb[l] * (x[i + l] - mu[l]) + fc[l];
      }
    for (int64_t l = 0; i < m; ++i, ++l) {
      const float d = y[i] <= 0 ? 0.0f : dy[i];
      dx[i] = fa[l] * d + fb[l] * (x[i] - mu[l]) + fc[l];
    }
    return;
  }
  for (; i + kLanes <= m; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) dx[i + l] = fa[l] * dy[i + l] + fb[l] * (x[i + l] - mu[l]) + fc[l];
  for (int64_t l = 0; i < m; ++i, ++l) dx[i] = fa[l] * dy[i] + fb[l] * (x[i] - mu[l]) + fc[l];
}

// Folds the 16 lanes of a chunk into its `block` channels.
void fold(const float* lanes, int64_t block, double* channels) {
  for (int64_t b = 0; b < block; ++b) channels[b] = 0;
  for (int64_t l = 0; l < kLanes; ++l) channels[l % block] += lanes[l];
}

// Spreads one number a channel over the 16 lanes; channels that only pad a block get `padding`.
template <typename Number>
void spread(const Number* values, const ImageView& v, int64_t c_block, float padding, float* lanes) {
  for (int64_t l = 0; l < kLanes; ++l) {
    const int64_t channel = c_block * v.block + l % v.block;
    lanes[l] = channel < v.channels ? static_cast<float>(values[channel]) : padding;
  }
}

// y = (x - mean) * scale + bias of every chunk, with `residual` and `relu` as in `apply`. mean, scale, bias [c].
void apply_chunks(const float* x, const float* residual, float* y, const ImageView& v, const float* mean,
                  const double* scale, const float* bias, bool relu) {
  const int64_t m = v.spatial * v.block;
  parallel_for(v.n * v.c_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      float mu[kLanes], a[kLanes], b[kLanes];
      spread(mean, v, chunk % v.c_blocks, 0.0f, mu);
      spread(scale, v, chunk % v.c_blocks, 0.0f, a);
      spread(bias, v, chunk % v.c_blocks, 0.0f, b);
      apply(x + chunk * m, residual ? residual + chunk * m : nullptr, y + chunk * m, m, mu, a, b, relu);
    }
  });
}

bool is_supported(const std::optional<ImageView>& view) {
  return view && (view->block == 1 || view->block == 4 || view->block == 8 || view->block == 16);
}

// The layout that all images of the node take: the first input's where the loops can walk it, else plain.
LayoutPtr image_layout(const KernelRequest& request) {
  const TensorType& x = request.graph.type(request.node.inputs[0]);
  return is_supported(image_view(x, request.input_layouts[0])) ? request.input_layouts[0] : nullptr;
}

}  // namespace

KernelChoice select_batch_norm2d(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType& x_type = request.graph.type(node.inputs[0]);
  const LayoutPtr layout = image_layout(request);
  const ImageView v = *image_view(x_type, layout);
  const double eps = node.attributes.real("eps"), momentum = node.attributes.real("momentum");
  const bool relu = node.attributes.flag("relu");
  const int64_t chunks = v.n * v.c_blocks, m = v.spatial * v.block;
  if (v.n * v.spatial == 1)
    throw Error(Status::invalid_argument, text("batch_norm2d '", node.name, "' on ", device.id(),
                                               ": training needs more than 1 value a channel, this device's shard of ",
                                               x_type.shape, " has 1; use a larger batch or fewer devices"));

  // Scratch: mean and sum of squared differences of each chunk's channels [chunks][2][block], then scale [c].
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto* x = static_cast<const float*>(in[0]);
    const auto *weight = static_cast<const float*>(in[1]), *bias = static_cast<const float*>(in[2]);
    auto *running_mean = static_cast<float*>(in[3]), *running_var = static_cast<float*>(in[4]);
    const auto* residual = static_cast<const float*>(in[6]);
    auto *y = static_cast<float*>(out[0]), *mean = static_cast<float*>(out[1]), *inv_std = static_cast<float*>(out[2]);
    auto* partial = static_cast<double*>(scratch);
    double* scale = partial + chunks * 2 * v.block;

    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        float lanes[kLanes], center[kLanes];
        double* p = partial + chunk * 2 * v.block;
        sum_lanes(x + chunk * m, m, lanes);
        fold(lanes, v.block, p);
        for (int64_t b = 0; b < v.block; ++b) p[b] /= static_cast<double>(v.spatial);
        for (int64_t l = 0; l < kLanes; ++l) center[l] = static_cast<float>(p[l % v.block]);
        square_lanes(x + chunk * m, m, center, lanes);
        fold(lanes, v.block, p + v.block);
        for (int64_t b = 0; b < v.block; ++b) {  // the squares were taken around the rounded mean
          const double rounding = p[b] - center[b];
          p[v.block + b] -= static_cast<double>(v.spatial) * rounding * rounding;
        }
      }
    });
    // Chan, Golub and LeVeque (1979): means and squared differences of parts combine exactly.
    const double count = static_cast<double>(v.n * v.spatial);
    for (int64_t channel = 0; channel < v.channels; ++channel) {
      const int64_t c_block = channel / v.block, b = channel % v.block;
      double total_mean = 0, squares = 0;
      for (int64_t n = 0; n < v.n; ++n) total_mean += partial[(n * v.c_blocks + c_block) * 2 * v.block + b];
      total_mean /= static_cast<double>(v.n);
      for (int64_t n = 0; n < v.n; ++n) {
        const double* p = partial + (n * v.c_blocks + c_block) * 2 * v.block;
        squares += p[v.block + b] + static_cast<double>(v.spatial) * (p[b] - total_mean) * (p[b] - total_mean);
      }
      squares = std::max(squares, 0.0);
      const double variance = squares / count, inverse = 1.0 / std::sqrt(variance + eps);
      mean[channel] = static_cast<float>(total_mean);
      inv_std[channel] = static_cast<float>(inverse);
      scale[channel] = weight[channel] * inverse;
      // Running variance is unbiased; of a single value a channel it stays as it is biased, 0.
      const double unbiased = count > 1 ? squares / (count - 1) : variance;
      if (!running_mean) continue;
      running_mean[channel] = static_cast<float>((1 - momentum) * running_mean[channel] + momentum * total_mean);
      running_var[channel] = static_cast<float>((1 - momentum) * running_var[channel] + momentum * unbiased);
    }
    if (in[5]) ++*static_cast<int64_t*>(in[5]);
    apply_chunks(x, residual, y, v, mean, scale, bias, relu);
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_norm2d";
  choice.input_layouts = {layout, nullptr, nullptr, nullptr, nullptr, nullptr, layout};
  choice.output_layouts = {layout, nullptr, nullptr};
  choice.scratch_bytes = static_cast<size_t>(chunks * 2 * v.block + v.channels) * sizeof(double);
  if (node.inputs[6] != kNoValue) choice.may_share = {{0, 6}};
  return choice;
}

KernelChoice select_batch_norm2d_gradient(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const LayoutPtr layout = image_layout(request);
  const ImageView v = *image_view(request.graph.type(node.inputs[0]), layout);
  const bool writes_dz = node.attributes.flag("residual");
  const int64_t chunks = v.n * v.c_blocks, m = v.spatial * v.block;

  // Scratch: sums of dz and of dz (x - mean) of each chunk's channels [chunks][2][block], then factors a, b, c [3][c].
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto *x = static_cast<const float*>(in[0]), *weight = static_cast<const float*>(in[1]);
    const auto *mean = static_cast<const float*>(in[2]), *inv_std = static_cast<const float*>(in[3]);
    const auto *y = static_cast<const float*>(in[4]), *dy = static_cast<const float*>(in[5]);
    auto *dx = static_cast<float*>(out[0]), *dweight = static_cast<float*>(out[1]),
         *dbias = static_cast<float*>(out[2]);
    auto* dz = writes_dz ? static_cast<float*>(out[3]) : nullptr;
    auto* partial = static_cast<double*>(scratch);
    double *fa = partial + chunks * 2 * v.block, *fb = fa + v.channels, *fc = fb + v.channels;

    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        float mu[kLanes], sums[kLanes], products[kLanes];
        const int64_t at = chunk * m;
        spread(mean, v, chunk % v.c_blocks, 0.0f, mu);
        gradient_sums(x + at, y ? y + at : nullptr, dy + at, dz ? dz + at : nullptr, m, mu, sums, products);
        fold(sums, v.block, partial + chunk * 2 * v.block);
        fold(products, v.block, partial + chunk * 2 * v.block + v.block);
      }
    });
    const double count = static_cast<double>(v.n * v.spatial);
    for (int64_t channel = 0; channel < v.channels; ++channel) {
      const int64_t c_block = channel / v.block, b = channel % v.block;
      double sum = 0, product = 0;
      for (int64_t n = 0; n < v.n; ++n) {
        const double* p = partial + (n * v.c_blocks + c_block) * 2 * v.block;
        sum += p[b];
        product += p[v.block + b];
      }
      const double inverse = inv_std[channel];
      dbias[channel] = static_cast<float>(sum);
      dweight[channel] = static_cast<float>(product * inverse);
      fa[channel] = weight[channel] * inverse;
      fb[channel] = -fa[channel] * inverse * inverse * product / count;
      fc[channel] = -fa[channel] * sum / count;
    }
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        float mu[kLanes], a[kLanes], b[kLanes], c[kLanes];
        const int64_t at = chunk * m, c_block = chunk % v.c_blocks;
        spread(mean, v, c_block, 0.0f, mu);
        spread(fa, v, c_block, 0.0f, a);
        spread(fb, v, c_block, 0.0f, b);
        spread(fc, v, c_block, 0.0f, c);
        // Where dz was written it already has the mask.
        apply_gradient(x + at, y && !dz ? y + at : nullptr, dz ? dz + at : dy + at, dx + at, m, mu, a, b, c);
      }
    });
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_norm2d_gradient";
  choice.input_layouts = {layout, nullptr, nullptr, nullptr, layout, layout};
  choice.output_layouts = {layout, nullptr, nullptr};
  if (writes_dz) choice.output_layouts.push_back(layout);
  choice.scratch_bytes = static_cast<size_t>(chunks * 2 * v.block + 3 * v.channels) * sizeof(double);
  choice.may_share = {{writes_dz ? 3 : 0, 5}};
  return choice;
}

KernelChoice select_batch_norm2d_inference(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const LayoutPtr layout = image_layout(request);
  const ImageView v = *image_view(request.graph.type(node.inputs[0]), layout);
  const double eps = node.attributes.real("eps");
  const bool relu = node.attributes.flag("relu");
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto* x = static_cast<const float*>(in[0]);
    const auto *weight = static_cast<const float*>(in[1]), *bias = static_cast<const float*>(in[2]);
    const auto *mean = static_cast<const float*>(in[3]), *var = static_cast<const float*>(in[4]);
    const auto* residual = static_cast<const float*>(in[6]);
    auto* y = static_cast<float*>(out[0]);
    auto* scale = static_cast<double*>(scratch);
    for (int64_t c = 0; c < v.channels; ++c) scale[c] = weight[c] / std::sqrt(var[c] + eps);
    apply_chunks(x, residual, y, v, mean, scale, bias, relu);
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_norm2d_inference";
  choice.input_layouts = {layout, nullptr, nullptr, nullptr, nullptr, nullptr, layout};
  choice.output_layouts = {layout};
  choice.scratch_bytes = static_cast<size_t>(v.channels) * sizeof(double);
  choice.may_share = {{0, 0}};
  return choice;
}

}  // namespace troika::cpu
