// Loops over chunks of an image, and sums over them.
#include "backends/cpu/batch_norm2d_chunks.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/threads.h"
#include "core/float16.h"

namespace troika::cpu {
namespace {

constexpr int64_t kLanes = 16;

// A chunk as rows of 16 floats, `stride` apart, and behind them the rest.
struct Rows {
  int64_t count, stride, rest;
};

// sums[l] += v[i], l = i % 16.
TROIKA_VECTORIZE void sum_lanes(const float* v, const Rows& r, float* sums) {
  float lane[kLanes] = {};
  int64_t i = 0;
  for (int64_t row = 0; row < r.count; ++row, i += r.stride)
    for (int64_t l = 0; l < kLanes; ++l) lane[l] += v[i + l];
  for (int64_t l = 0; l < r.rest; ++i, ++l) lane[l] += v[i];
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = lane[l];
}

// sums[l] = sum of (v[i] - center[l])^2.
TROIKA_VECTORIZE void square_lanes(const float* v, const Rows& r, const float* center, float* sums) {
  float lane[kLanes] = {}, c[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) c[l] = center[l];
  int64_t i = 0;
  for (int64_t row = 0; row < r.count; ++row, i += r.stride)
    for (int64_t l = 0; l < kLanes; ++l) {
      const float d = v[i + l] - c[l];
      lane[l] += d * d;
    }
  for (int64_t l = 0; l < r.rest; ++i, ++l) {
    const float d = v[i] - c[l];
    lane[l] += d * d;
  }
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = lane[l];
}

// y = (x - mean) * scale + bias, plus the residual where there is one, cut at 0 where `relu`. The difference first: it is
// what is small, and its rounding decides on which side of a ReLU a value falls.
TROIKA_VECTORIZE void apply(const float* x, const float* residual, float* y, const Rows& r, const float* mean,
                            const float* scale, const float* bias, bool relu) {
  float mu[kLanes], a[kLanes], b[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) mu[l] = mean[l], a[l] = scale[l], b[l] = bias[l];
  const float least = relu ? 0.0f : -INFINITY;
  int64_t i = 0;
  if (residual) {
    for (int64_t row = 0; row < r.count; ++row, i += r.stride)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float v = (x[i + l] - mu[l]) * a[l] + b[l] + residual[i + l];
        y[i + l] = v < least ? least : v;
      }
    for (int64_t l = 0; l < r.rest; ++i, ++l) {
      const float v = (x[i] - mu[l]) * a[l] + b[l] + residual[i];
      y[i] = v < least ? least : v;
    }
    return;
  }
  for (int64_t row = 0; row < r.count; ++row, i += r.stride)
    for (int64_t l = 0; l < kLanes; ++l) {
      const float v = (x[i + l] - mu[l]) * a[l] + b[l];
      y[i + l] = v < least ? least : v;
    }
  for (int64_t l = 0; l < r.rest; ++i, ++l) {
    const float v = (x[i] - mu[l]) * a[l] + b[l];
    y[i] = v < least ? least : v;
  }
}

// dz = dy where y > 0 (y null: everywhere), written where `dz` is given; sums[l] of dz and products[l] of dz * (x - mean).
TROIKA_VECTORIZE void gradient_sums(const float* x, const float* y, const float* dy, float* dz, const Rows& r,
                                    const float* mean, float* sums, float* products) {
  float s[kLanes] = {}, p[kLanes] = {}, c[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) c[l] = mean[l];
  int64_t i = 0;
  if (!y) {
    for (int64_t row = 0; row < r.count; ++row, i += r.stride)
      for (int64_t l = 0; l < kLanes; ++l) {
        s[l] += dy[i + l];
        p[l] += dy[i + l] * (x[i + l] - c[l]);
      }
    for (int64_t l = 0; l < r.rest; ++i, ++l) {
      s[l] += dy[i];
      p[l] += dy[i] * (x[i] - c[l]);
    }
  } else if (!dz) {
    for (int64_t row = 0; row < r.count; ++row, i += r.stride)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float d = y[i + l] <= 0 ? 0.0f : dy[i + l];
        s[l] += d;
        p[l] += d * (x[i + l] - c[l]);
      }
    for (int64_t l = 0; l < r.rest; ++i, ++l) {
      const float d = y[i] <= 0 ? 0.0f : dy[i];
      s[l] += d;
      p[l] += d * (x[i] - c[l]);
    }
  } else {
    for (int64_t row = 0; row < r.count; ++row, i += r.stride)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float d = y[i + l] <= 0 ? 0.0f : dy[i + l];
        dz[i + l] = d;
        s[l] += d;
        p[l] += d * (x[i + l] - c[l]);
      }
    for (int64_t l = 0; l < r.rest; ++i, ++l) {
      const float d = y[i] <= 0 ? 0.0f : dy[i];
      dz[i] = d;
      s[l] += d;
      p[l] += d * (x[i] - c[l]);
    }
  }
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = s[l], products[l] = p[l];
}

TROIKA_VECTORIZE void round_row(float* row, int64_t n, DType dtype) {
  if (dtype == DType::bf16)
    for (int64_t l = 0; l < n; ++l) row[l] = float_of_bf16(bf16_of_float(row[l]));
  else if (dtype == DType::f16)
    for (int64_t l = 0; l < n; ++l) row[l] = float_of_f16(f16_of_float(row[l]));
}

// sum = a + b, rounded to `dtype`.
TROIKA_VECTORIZE void add_rows(const float* a, const float* b, float* sum, const Rows& r, DType dtype) {
  int64_t i = 0;
  for (int64_t row = 0; row < r.count; ++row, i += r.stride)
    for (int64_t l = 0; l < kLanes; ++l) sum[i + l] = a[i + l] + b[i + l];
  for (int64_t l = 0; l < r.rest; ++l) sum[i + l] = a[i + l] + b[i + l];
  if (dtype == DType::f32) return;
  i = 0;
  for (int64_t row = 0; row < r.count; ++row, i += r.stride) round_row(sum + i, kLanes, dtype);
  round_row(sum + i, r.rest, dtype);
}

// dx = a * dz + b * (x - mean) + c, with dz = dy where y > 0 (y null: everywhere).
TROIKA_VECTORIZE void apply_gradient(const float* x, const float* y, const float* dy, float* dx, const Rows& r,
                                     const float* mean, const float* a, const float* b, const float* c) {
  float mu[kLanes], fa[kLanes], fb[kLanes], fc[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) mu[l] = mean[l], fa[l] = a[l], fb[l] = b[l], fc[l] = c[l];
  int64_t i = 0;
  if (y) {
    for (int64_t row = 0; row < r.count; ++row, i += r.stride)
      for (int64_t l = 0; l < kLanes; ++l) {
        const float d = y[i + l] <= 0 ? 0.0f : dy[i + l];
        dx[i + l] = fa[l] * d + fb[l] * (x[i + l] - mu[l]) + fc[l];
      }
    for (int64_t l = 0; l < r.rest; ++i, ++l) {
      const float d = y[i] <= 0 ? 0.0f : dy[i];
      dx[i] = fa[l] * d + fb[l] * (x[i] - mu[l]) + fc[l];
    }
    return;
  }
  for (int64_t row = 0; row < r.count; ++row, i += r.stride)
    for (int64_t l = 0; l < kLanes; ++l) dx[i + l] = fa[l] * dy[i + l] + fb[l] * (x[i + l] - mu[l]) + fc[l];
  for (int64_t l = 0; l < r.rest; ++i, ++l) dx[i] = fa[l] * dy[i] + fb[l] * (x[i] - mu[l]) + fc[l];
}

// Folds the 16 lanes of a chunk into its `block` channels.
void fold(const float* lanes, int64_t block, double* channels) {
  for (int64_t b = 0; b < block; ++b) channels[b] = 0;
  for (int64_t l = 0; l < kLanes; ++l) channels[l % block] += lanes[l];
}

// Spreads one number a channel over the 16 lanes; channels that only pad a block get `padding`.
template <typename Number>
void spread(const Number* values, const ChunkView& v, int64_t c_block, float padding, float* lanes) {
  for (int64_t l = 0; l < kLanes; ++l) {
    const int64_t channel = c_block * v.block + l % v.block;
    lanes[l] = channel < v.channels ? static_cast<float>(values[channel]) : padding;
  }
}

bool is_supported(const std::optional<ImageView>& view) {
  if (!view) return false;
  return view->block == 1 || view->block == 4 || view->block == 8 || view->block % kLanes == 0;
}

Rows rows_of(const ChunkView& v) {
  if (v.stride != v.block) return {v.spatial, v.stride, 0};
  return {v.spatial * v.block / kLanes, kLanes, v.spatial * v.block % kLanes};
}

int64_t begin_of(const ChunkView& v, int64_t chunk) {
  if (v.stride == v.block) return chunk * v.spatial * v.block;
  return chunk / v.c_blocks * v.spatial * v.stride + chunk % v.c_blocks * v.block;
}

// Of each chunk's channels: two numbers [2][block], behind each other.
double* numbers_of(double* partial, const ChunkView& v, int64_t chunk) { return partial + chunk * 2 * v.block; }

const double* numbers_of(const double* partial, const ChunkView& v, int64_t n, int64_t channel) {
  return partial + (n * v.c_blocks + channel / v.block) * 2 * v.block + channel % v.block;
}

}  // namespace

LayoutPtr image_layout(const KernelRequest& request) {
  const TensorType& x = request.graph.type(request.node.inputs[0]);
  return is_supported(image_view(x, request.input_layouts[0])) ? request.input_layouts[0] : nullptr;
}

ChunkView chunk_view(const TensorType& type, const LayoutPtr& layout) {
  const ImageView v = *image_view(type, layout);
  if (v.block <= kLanes) return {v, v.block};
  return {{v.n, v.channels, v.block / kLanes, v.spatial, kLanes}, v.block};
}

void find_chunk_moments(const float* x, const ChunkView& v, double* partial) {
  const Rows rows = rows_of(v);
  parallel_for(v.n * v.c_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      float lanes[kLanes], center[kLanes];
      double* p = numbers_of(partial, v, chunk);
      sum_lanes(x + begin_of(v, chunk), rows, lanes);
      fold(lanes, v.block, p);
      for (int64_t b = 0; b < v.block; ++b) p[b] /= static_cast<double>(v.spatial);
      for (int64_t l = 0; l < kLanes; ++l) center[l] = static_cast<float>(p[l % v.block]);
      square_lanes(x + begin_of(v, chunk), rows, center, lanes);
      fold(lanes, v.block, p + v.block);
      for (int64_t b = 0; b < v.block; ++b) {  // the squares were taken around the rounded mean
        const double rounding = p[b] - center[b];
        p[v.block + b] -= static_cast<double>(v.spatial) * rounding * rounding;
      }
    }
  });
}

Moments moments_of(const double* partial, const ChunkView& v, int64_t channel) {
  Moments moments{static_cast<double>(v.n * v.spatial), 0, 0};
  for (int64_t n = 0; n < v.n; ++n) moments.mean += *numbers_of(partial, v, n, channel);
  moments.mean /= static_cast<double>(v.n);
  for (int64_t n = 0; n < v.n; ++n) {
    const double* p = numbers_of(partial, v, n, channel);
    moments.squares += p[v.block] + static_cast<double>(v.spatial) * (p[0] - moments.mean) * (p[0] - moments.mean);
  }
  moments.squares = std::max(moments.squares, 0.0);
  return moments;
}

void apply_chunks(const float* x, const float* residual, float* y, const ChunkView& v, const float* mean,
                  const double* scale, const float* bias, bool relu) {
  const Rows rows = rows_of(v);
  parallel_for(v.n * v.c_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      float mu[kLanes], a[kLanes], b[kLanes];
      const int64_t at = begin_of(v, chunk);
      spread(mean, v, chunk % v.c_blocks, 0.0f, mu);
      spread(scale, v, chunk % v.c_blocks, 0.0f, a);
      spread(bias, v, chunk % v.c_blocks, 0.0f, b);
      apply(x + at, residual ? residual + at : nullptr, y + at, rows, mu, a, b, relu);
    }
  });
}

void find_chunk_gradient_sums(const float* x, const float* y, const float* dy, const float* more, DType sum_dtype,
                              float* dz, const ChunkView& v, const float* mean, double* partial) {
  const Rows rows = rows_of(v);
  parallel_for(v.n * v.c_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      float mu[kLanes], sums[kLanes], products[kLanes];
      const int64_t at = begin_of(v, chunk);
      spread(mean, v, chunk % v.c_blocks, 0.0f, mu);
      if (more) add_rows(dy + at, more + at, dz + at, rows, sum_dtype);
      gradient_sums(x + at, y ? y + at : nullptr, (more ? dz : dy) + at, dz ? dz + at : nullptr, rows, mu, sums,
                    products);
      fold(sums, v.block, numbers_of(partial, v, chunk));
      fold(products, v.block, numbers_of(partial, v, chunk) + v.block);
    }
  });
}

GradientSums gradient_sums_of(const double* partial, const ChunkView& v, int64_t channel) {
  GradientSums sums;
  for (int64_t n = 0; n < v.n; ++n) {
    const double* p = numbers_of(partial, v, n, channel);
    sums.sum += p[0];
    sums.product += p[v.block];
  }
  return sums;
}

void apply_chunk_gradients(const float* x, const float* y, const float* dy, float* dx, const ChunkView& v,
                           const float* mean, const double* a, const double* b, const double* c) {
  const Rows rows = rows_of(v);
  parallel_for(v.n * v.c_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      float mu[kLanes], fa[kLanes], fb[kLanes], fc[kLanes];
      const int64_t at = begin_of(v, chunk), c_block = chunk % v.c_blocks;
      spread(mean, v, c_block, 0.0f, mu);
      spread(a, v, c_block, 0.0f, fa);
      spread(b, v, c_block, 0.0f, fb);
      spread(c, v, c_block, 0.0f, fc);
      apply_gradient(x + at, y ? y + at : nullptr, dy + at, dx + at, rows, mu, fa, fb, fc);
    }
  });
}

}  // namespace troika::cpu
