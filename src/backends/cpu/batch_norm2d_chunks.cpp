// Loops over chunks of an image, and sums over them.
#include "backends/cpu/batch_norm2d_chunks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "backends/cpu/threads.h"
#include "core/float16.h"

namespace troika::cpu {
namespace {

constexpr int64_t kLanes = 16;

// Numbers of images, which are computed with in f32.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
inline float to_float(float v) { return v; }
inline float to_float(Bf16 v) { return float_of_bf16(v.bits); }
inline float to_float(F16 v) { return float_of_f16(v.bits); }
inline void store(float v, float& to) { to = v; }
inline void store(float v, Bf16& to) { to.bits = bf16_of_float(v); }
inline void store(float v, F16& to) { to.bits = f16_of_float(v); }

// 0 if y <= 0, else dy; NaN lets dy pass. In 16 bits y is compared as its bits: compilers make a
// branch of a comparison of floats, which is mispredicted for half of the numbers.
inline float masked(float dy, float y) { return y <= 0 ? 0.0f : dy; }
template <typename T>
T masked(T dy, T y) {
  constexpr uint16_t kNegativeInfinity = std::is_same_v<T, Bf16> ? 0xff80 : 0xfc00;
  const bool is_positive = static_cast<uint16_t>(y.bits - 1) < 0x7fff;
  const bool is_negative_nan = y.bits > kNegativeInfinity;
  return {static_cast<uint16_t>(dy.bits & -static_cast<int>(is_positive | is_negative_nan))};
}

template <typename Body>
void with_number(DType dtype, Body&& body) {
  if (dtype == DType::bf16) return body(Bf16{});
  if (dtype == DType::f16) return body(F16{});
  body(float{});
}

// A chunk as rows of 16 numbers, `stride` apart, followed by the rest.
struct Rows {
  int64_t count, stride, rest;
};

// visit(i, l) for every number of a chunk and its lane.
template <typename Visit>
[[gnu::always_inline]] inline void for_each(const Rows& r, Visit visit) {
  int64_t i = 0;
  for (int64_t row = 0; row < r.count; ++row, i += r.stride) {
// Results may take the place of operands, number by number.
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#pragma GCC unroll 1  // written out whole it would not become vectors
#endif
    for (int64_t l = 0; l < kLanes; ++l) visit(i + l, l);
  }
  for (int64_t l = 0; l < r.rest; ++l) visit(i + l, l);
}

// Adds v[i] to sums[l].
template <typename T>
TROIKA_VECTORIZE void sum_lanes(const T* v, const Rows& r, float* sums) {
  float lane[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lane[l] = sums[l];
  for_each(r, [&](int64_t i, int64_t l) { lane[l] += to_float(v[i]); });
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = lane[l];
}

// Adds v[i] - center[l] to sums[l], and its square to squares[l].
template <typename T>
TROIKA_VECTORIZE void difference_lanes(const T* v, const Rows& r, const float* center, float* sums, float* squares) {
  float lane[kLanes], square[kLanes], c[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lane[l] = sums[l], square[l] = squares[l], c[l] = center[l];
  for_each(r, [&](int64_t i, int64_t l) {
    const float d = to_float(v[i]) - c[l];
    lane[l] += d;
    square[l] += d * d;
  });
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = lane[l], squares[l] = square[l];
}

// y = (x - mean) * scale + bias, plus the residual if there is one, cut at 0 if `relu`. The
// difference comes first: it is small, and its rounding decides on which side of a ReLU a value
// falls.
template <typename T>
TROIKA_VECTORIZE void apply(const T* x, const T* residual, T* y, const Rows& r, const float* mean, const float* scale,
                            const float* bias, bool relu) {
  float mu[kLanes], a[kLanes], b[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) mu[l] = mean[l], a[l] = scale[l], b[l] = bias[l];
  const float least = relu ? 0.0f : -INFINITY;
  if (residual)
    for_each(r, [&](int64_t i, int64_t l) {
      const float v = (to_float(x[i]) - mu[l]) * a[l] + b[l] + to_float(residual[i]);
      store(v < least ? least : v, y[i]);
    });
  else
    for_each(r, [&](int64_t i, int64_t l) {
      const float v = (to_float(x[i]) - mu[l]) * a[l] + b[l];
      store(v < least ? least : v, y[i]);
    });
}

// dz = dy if y > 0 (y null: always), written if `dz` is not null. Adds dz to sums[l], and dz * (x -
// mean) to products[l].
template <typename T>
TROIKA_VECTORIZE void gradient_sums(const T* x, const T* y, const T* dy, T* dz, const Rows& r, const float* mean,
                                    float* sums, float* products) {
  float s[kLanes], p[kLanes], c[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) s[l] = sums[l], p[l] = products[l], c[l] = mean[l];
  if (!y)
    for_each(r, [&](int64_t i, int64_t l) {
      const float d = to_float(dy[i]);
      s[l] += d;
      p[l] += d * (to_float(x[i]) - c[l]);
    });
  else if (!dz)
    for_each(r, [&](int64_t i, int64_t l) {
      const float d = to_float(masked(dy[i], y[i]));
      s[l] += d;
      p[l] += d * (to_float(x[i]) - c[l]);
    });
  else
    for_each(r, [&](int64_t i, int64_t l) {
      dz[i] = masked(dy[i], y[i]);
      const float d = to_float(dz[i]);
      s[l] += d;
      p[l] += d * (to_float(x[i]) - c[l]);
    });
  for (int64_t l = 0; l < kLanes; ++l) sums[l] = s[l], products[l] = p[l];
}

// sum = a + b, rounded as an `add` of them does.
template <typename T>
TROIKA_VECTORIZE void add(const T* a, const T* b, T* sum, const Rows& r) {
  for_each(r, [&](int64_t i, int64_t) { store(to_float(a[i]) + to_float(b[i]), sum[i]); });
}

// dx = a * dz + b * (x - mean) + c, with dz = dy if y > 0 (y null: always), else 0.
template <typename T>
TROIKA_VECTORIZE void apply_gradient(const T* x, const T* y, const T* dy, T* dx, const Rows& r, const float* mean,
                                     const float* a, const float* b, const float* c) {
  float mu[kLanes], fa[kLanes], fb[kLanes], fc[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) mu[l] = mean[l], fa[l] = a[l], fb[l] = b[l], fc[l] = c[l];
  if (y)
    for_each(r, [&](int64_t i, int64_t l) {
      const float d = to_float(masked(dy[i], y[i]));
      store(fa[l] * d + fb[l] * (to_float(x[i]) - mu[l]) + fc[l], dx[i]);
    });
  else
    for_each(r, [&](int64_t i, int64_t l) {
      store(fa[l] * to_float(dy[i]) + fb[l] * (to_float(x[i]) - mu[l]) + fc[l], dx[i]);
    });
}

// Folds the 16 lanes of a chunk into its `block` channels.
void fold(const float* lanes, int64_t block, double* channels) {
  for (int64_t b = 0; b < block; ++b) channels[b] = 0;
  for (int64_t l = 0; l < kLanes; ++l) channels[l % block] += lanes[l];
}

// Spreads one number per channel over the 16 lanes; channels that only pad a block get 0.
template <typename Number>
void spread(const Number* values, const ChunkView& v, int64_t c_block, float* lanes) {
  for (int64_t l = 0; l < kLanes; ++l) {
    const int64_t channel = c_block * v.block + l % v.block;
    lanes[l] = channel < v.channels ? static_cast<float>(values[channel]) : 0.0f;
  }
}

bool is_supported(const std::optional<ImageView>& view) {
  if (!view) return false;
  if (view->block > kLanes) return view->block % kLanes == 0 && view->c_blocks == 1;  // channels last
  return view->block == 1 || view->block == 4 || view->block == 8 || view->block == kLanes;
}

Rows rows_of(const ChunkView& v) {
  if (v.stride != v.block) return {v.spatial, v.stride, 0};
  return {v.spatial * v.block / kLanes, kLanes, v.spatial * v.block % kLanes};
}

int64_t begin_of(const ChunkView& v, int64_t chunk) {
  if (v.stride == v.block) return chunk * v.spatial * v.block;
  return chunk / v.c_blocks * v.spatial * v.stride + chunk % v.c_blocks * v.block;
}

// Returns two numbers [2][block] of each chunk's channels; chunks follow one another.
double* numbers_of(double* partial, const ChunkView& v, int64_t chunk) { return partial + chunk * 2 * v.block; }

const double* numbers_of(const double* partial, const ChunkView& v, int64_t n, int64_t channel) {
  return partial + (n * v.c_blocks + channel / v.block) * 2 * v.block + channel % v.block;
}

template <typename T, typename Image>
auto* part(Image* image, int64_t at) {
  using Number = std::conditional_t<std::is_const_v<Image>, const T, T>;
  return image ? static_cast<Number*>(image) + at : nullptr;
}

// Chunks that one thread walks together: first, first + 1, ... of a sample. If channels come last,
// a line of a cache has two chunks in 16 bits, and processors load lines in pairs.
struct ChunkGroup {
  static constexpr int64_t kMost = 4;
  int64_t first, count;
};
using GroupLanes = float[ChunkGroup::kMost][kLanes];

int64_t most_chunks(const ChunkView& v) {
  if (v.stride == v.block) return 1;
  int64_t most = ChunkGroup::kMost;
  while (most > 1 && v.n * v.c_blocks / most < 2 * team_size()) most /= 2;
  return most;
}

// Calls body(number, group). `number` has the type of the image's numbers.
template <typename Body>
void for_each_group(const ChunkView& v, const Body& body) {
  const int64_t most = most_chunks(v), groups = (v.c_blocks + most - 1) / most;  // groups of a sample
  with_number(v.dtype, [&](auto number) {
    parallel_for(v.n * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c_block = i % groups * most;
        body(number, ChunkGroup{i / groups * v.c_blocks + c_block, std::min(most, v.c_blocks - c_block)});
      }
    });
  });
}

// Calls visit(k, address, rows) for pieces of the rows of chunk first + k. A piece of all chunks
// comes before the next piece, so that chunks find the lines that they share in a cache.
template <typename Visit>
void for_each_piece(const ChunkView& v, const ChunkGroup& group, const Visit& visit) {
  constexpr int64_t kPieceRows = 64;
  const Rows rows = rows_of(v);
  const int64_t most = group.count > 1 ? kPieceRows : rows.count;
  int64_t row = 0;
  do {
    const int64_t count = std::min(most, rows.count - row);
    const Rows piece{count, rows.stride, rows.rest};  // with a rest there is one piece
    for (int64_t k = 0; k < group.count; ++k) visit(k, begin_of(v, group.first + k) + row * rows.stride, piece);
    row += count;
  } while (row < rows.count);
}

// Spreads one number per channel over the lanes of a group's chunks.
template <typename Number>
void spread(const Number* values, const ChunkView& v, const ChunkGroup& group, GroupLanes& lanes) {
  for (int64_t k = 0; k < group.count; ++k) spread(values, v, (group.first + k) % v.c_blocks, lanes[k]);
}

}  // namespace

LayoutPtr image_layout(const KernelRequest& request) {
  const TensorType& x = request.graph.type(request.node.inputs[0]);
  const LayoutPtr& layout = request.input_layouts[0];
  return is_supported(image_view({DType::f32, x.shape}, in_f32(layout))) ? layout : nullptr;
}

ChunkView chunk_view(const TensorType& type, const LayoutPtr& layout) {
  const ImageView v = *image_view({DType::f32, type.shape}, in_f32(layout));
  if (v.block <= kLanes) return {v, type.dtype, v.block};
  return {{v.n, v.channels, v.block / kLanes, v.spatial, kLanes}, type.dtype, v.block};
}

void find_chunk_moments(const void* x, const ChunkView& v, double* partial) {
  for_each_group(v, [&](auto number, const ChunkGroup& group) {
    using T = decltype(number);
    GroupLanes sums = {}, centers, differences = {}, squares = {};
    for_each_piece(v, group,
                   [&](int64_t k, int64_t at, const Rows& rows) { sum_lanes(part<T>(x, at), rows, sums[k]); });
    for (int64_t k = 0; k < group.count; ++k) {
      double* const p = numbers_of(partial, v, group.first + k);
      fold(sums[k], v.block, p);
      for (int64_t b = 0; b < v.block; ++b) p[b] /= static_cast<double>(v.spatial);
      for (int64_t l = 0; l < kLanes; ++l) centers[k][l] = static_cast<float>(p[l % v.block]);
    }
    for_each_piece(v, group, [&](int64_t k, int64_t at, const Rows& rows) {
      difference_lanes(part<T>(x, at), rows, centers[k], differences[k], squares[k]);
    });
    // The center is a mean in single precision, coarse for numbers far from 0. The differences are
    // small, and their mean corrects it: the corrected two-pass algorithm (Chan, Golub and LeVeque
    // 1983).
    for (int64_t k = 0; k < group.count; ++k) {
      double* const p = numbers_of(partial, v, group.first + k);
      fold(differences[k], v.block, p);
      fold(squares[k], v.block, p + v.block);
      for (int64_t b = 0; b < v.block; ++b) {
        const double difference = p[b] / static_cast<double>(v.spatial);
        p[b] = centers[k][b] + difference;
        p[v.block + b] -= static_cast<double>(v.spatial) * difference * difference;
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

void apply_chunks(const void* x, const void* residual, void* y, const ChunkView& v, const float* mean,
                  const double* scale, const float* bias, bool relu) {
  for_each_group(v, [&](auto number, const ChunkGroup& group) {
    using T = decltype(number);
    GroupLanes mu, a, b;
    spread(mean, v, group, mu);
    spread(scale, v, group, a);
    spread(bias, v, group, b);
    for_each_piece(v, group, [&](int64_t k, int64_t at, const Rows& rows) {
      apply(part<T>(x, at), part<T>(residual, at), part<T>(y, at), rows, mu[k], a[k], b[k], relu);
    });
  });
}

void find_chunk_gradient_sums(const void* x, const void* y, const void* dy, const void* more, void* dz,
                              const ChunkView& v, const float* mean, double* partial) {
  for_each_group(v, [&](auto number, const ChunkGroup& group) {
    using T = decltype(number);
    GroupLanes mu, sums = {}, products = {};
    spread(mean, v, group, mu);
    for_each_piece(v, group, [&](int64_t k, int64_t at, const Rows& rows) {
      if (more) add(part<T>(dy, at), part<T>(more, at), part<T>(dz, at), rows);
      const T* const gradient = more ? part<T>(dz, at) : part<T>(dy, at);
      gradient_sums(part<T>(x, at), part<T>(y, at), gradient, part<T>(dz, at), rows, mu[k], sums[k], products[k]);
    });
    for (int64_t k = 0; k < group.count; ++k) {
      double* const p = numbers_of(partial, v, group.first + k);
      fold(sums[k], v.block, p);
      fold(products[k], v.block, p + v.block);
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

void apply_chunk_gradients(const void* x, const void* y, const void* dy, void* dx, const ChunkView& v,
                           const float* mean, const double* a, const double* b, const double* c) {
  for_each_group(v, [&](auto number, const ChunkGroup& group) {
    using T = decltype(number);
    GroupLanes mu, fa, fb, fc;
    spread(mean, v, group, mu);
    spread(a, v, group, fa);
    spread(b, v, group, fb);
    spread(c, v, group, fc);
    for_each_piece(v, group, [&](int64_t k, int64_t at, const Rows& rows) {
      apply_gradient(part<T>(x, at), part<T>(y, at), part<T>(dy, at), part<T>(dx, at), rows, mu[k], fa[k], fb[k],
                     fc[k]);
    });
  });
}

}  // namespace troika::cpu
