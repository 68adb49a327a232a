// Transforms, in lanes of 8 channels, and matrix products of Winograd's F(4x4, 3x3).
#include "backends/cpu/winograd.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/threads.h"
#include "backends/cpu/vectors.h"

namespace troika::cpu::winograd {
namespace {

typedef float Lanes4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float Lanes8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float Lanes16 __attribute__((vector_size(64), aligned(4), may_alias));

constexpr int64_t kTileLanes = 8;

[[gnu::always_inline]] inline Lanes8& at(float* p) { return *reinterpret_cast<Lanes8*>(p); }
[[gnu::always_inline]] inline const Lanes8& at(const float* p) { return *reinterpret_cast<const Lanes8*>(p); }

// The points 0, a, -a, b, -b and infinity.
constexpr float kA = 0.625f, kB = 1.5f, kAA = kA * kA, kBB = kB * kB;
// 1 over the product of a point's differences from the other finite ones.
constexpr float kAtZero = 1 / (kAA * kBB), kAtA = 1 / (2 * kAA * (kAA - kBB)), kAtB = 1 / (2 * kBB * (kBB - kAA));

// Each of these is one of the paper's matrices times a vector, whose elements are `step` floats
// apart.

// B^T [6, 6].
[[gnu::always_inline]] inline void input_points(const float* const d[6], int64_t offset, float* v, int64_t step) {
  const Lanes8 d0 = at(d[0] + offset), d1 = at(d[1] + offset), d2 = at(d[2] + offset), d3 = at(d[3] + offset),
               d4 = at(d[4] + offset), d5 = at(d[5] + offset);
  const Lanes8 even_a = d4 - kBB * d2, odd_a = d3 - kBB * d1, even_b = d4 - kAA * d2, odd_b = d3 - kAA * d1;
  at(v) = (d4 - (kAA + kBB) * d2) + kAA * kBB * d0;
  at(v + step) = even_a + kA * odd_a;
  at(v + 2 * step) = even_a - kA * odd_a;
  at(v + 3 * step) = even_b + kB * odd_b;
  at(v + 4 * step) = even_b - kB * odd_b;
  at(v + 5 * step) = (d5 - (kAA + kBB) * d3) + kAA * kBB * d1;
}

// A^T [4, 6].
[[gnu::always_inline]] inline void outputs(const float* m, int64_t m_step, float* y, int64_t step) {
  const Lanes8 m1 = at(m + m_step), m2 = at(m + 2 * m_step), m3 = at(m + 3 * m_step), m4 = at(m + 4 * m_step);
  const Lanes8 sum_a = m1 + m2, difference_a = m1 - m2, sum_b = m3 + m4, difference_b = m3 - m4;
  at(y) = at(m) + sum_a + sum_b;
  at(y + step) = kA * difference_a + kB * difference_b;
  at(y + 2 * step) = kAA * sum_a + kBB * sum_b;
  at(y + 3 * step) = kA * kAA * difference_a + kB * kBB * difference_b + at(m + 5 * m_step);
}

// A [6, 4].
[[gnu::always_inline]] inline void output_gradient_points(const float* const d[4], int64_t offset, float* z,
                                                          int64_t step) {
  const Lanes8 d0 = at(d[0] + offset), d1 = at(d[1] + offset), d2 = at(d[2] + offset), d3 = at(d[3] + offset);
  const Lanes8 even_a = d0 + kAA * d2, odd_a = d1 + kAA * d3, even_b = d0 + kBB * d2, odd_b = d1 + kBB * d3;
  at(z) = d0;
  at(z + step) = even_a + kA * odd_a;
  at(z + 2 * step) = even_a - kA * odd_a;
  at(z + 3 * step) = even_b + kB * odd_b;
  at(z + 4 * step) = even_b - kB * odd_b;
  at(z + 5 * step) = d3;
}

// G [6, 3].
[[gnu::always_inline]] inline void weight_points(const float* w, int64_t w_step, float* u, int64_t step) {
  const Lanes8 w0 = at(w), w1 = at(w + w_step), w2 = at(w + 2 * w_step);
  const Lanes8 even_a = kAtA * w0 + (kAtA * kAA) * w2, odd_a = (kAtA * kA) * w1;
  const Lanes8 even_b = kAtB * w0 + (kAtB * kBB) * w2, odd_b = (kAtB * kB) * w1;
  at(u) = kAtZero * w0;
  at(u + step) = even_a + odd_a;
  at(u + 2 * step) = even_a - odd_a;
  at(u + 3 * step) = even_b + odd_b;
  at(u + 4 * step) = even_b - odd_b;
  at(u + 5 * step) = w2;
}

// G^T [3, 6].
[[gnu::always_inline]] inline void weight_gradients(const float* s, int64_t s_step, float* w, int64_t step) {
  const Lanes8 s1 = at(s + s_step), s2 = at(s + 2 * s_step), s3 = at(s + 3 * s_step), s4 = at(s + 4 * s_step);
  const Lanes8 sum_a = kAtA * (s1 + s2), difference_a = kAtA * (s1 - s2);
  const Lanes8 sum_b = kAtB * (s3 + s4), difference_b = kAtB * (s3 - s4);
  at(w) = kAtZero * at(s) + sum_a + sum_b;
  at(w + step) = kA * difference_a + kB * difference_b;
  at(w + 2 * step) = kAA * sum_a + kBB * sum_b + at(s + 5 * s_step);
}

struct Corner {
  int64_t n, y, x;
};

inline Corner corner_of(const TiledImage& image, int64_t tile) {
  const int64_t row = tile / image.tile_columns;
  return {row / image.tile_rows, row % image.tile_rows * 4 - image.top, tile % image.tile_columns * 4 - image.left};
}

// Where the pixels of 8 channels begin; they are `block` floats apart.
inline int64_t plane_of(const TiledImage& image, int64_t n, int64_t channel) {
  const int64_t in_block = channel % image.block;
  return (n * image.channels + channel - in_block) * image.height * image.width + in_block;
}

// Stands for pixels of rows outside an image.
alignas(64) constexpr float kNothing[6 * 16] = {};

// A tile's rows.
template <int kRows>
[[gnu::always_inline]] inline void find_rows(const TiledImage& image, const float* plane, const Corner& corner,
                                             const float* rows[kRows]) {
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t y = corner.y + i;
    rows[i] = y >= 0 && y < image.height ? plane + (y * image.width + corner.x) * image.block : kNothing;
  }
}

}  // namespace

TROIKA_VECTORIZE void transform_input(const TiledImage& image, const float* x, int64_t slice, Range tiles, float* v) {
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile, v += kSlice) {
    const Corner corner = corner_of(image, tile);
    for (int64_t channel = 0; channel < kSlice; channel += kTileLanes) {
      const float *rows[6], *columns[6];
      find_rows<6>(image, x + plane_of(image, corner.n, slice * kSlice + channel), corner, rows);
      float half[6][6][kTileLanes];
      for (int64_t j = 0; j < 6; ++j) {
        if (corner.x + j >= 0 && corner.x + j < image.width)
          input_points(rows, j * image.block, half[0][j], 6 * kTileLanes);
        else
          for (int64_t i = 0; i < 6; ++i) at(half[i][j]) = Lanes8{};
      }
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 0; j < 6; ++j) columns[j] = half[i][j];
        input_points(columns, 0, v + i * 6 * kTilesPoint + channel, kTilesPoint);
      }
    }
  }
}

TROIKA_VECTORIZE void transform_output_gradient(const TiledImage& image, const float* dy, int64_t slice, Range tiles,
                                                float* z, float* sums) {
  for (int64_t c = 0; c < kSlice; ++c) sums[c] = 0;
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile, z += kSlice) {
    const Corner corner = corner_of(image, tile);
    for (int64_t channel = 0; channel < kSlice; channel += kTileLanes) {
      const float *rows[4], *columns[4];
      find_rows<4>(image, dy + plane_of(image, corner.n, slice * kSlice + channel), corner, rows);
      Lanes8 sum = {};
      float half[6][4][kTileLanes];
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t offset = j * image.block;
        if (corner.x + j < image.width) {
          output_gradient_points(rows, offset, half[0][j], 4 * kTileLanes);
          for (const float* row : rows) sum += at(row + offset);
        } else {
          for (int64_t i = 0; i < 6; ++i) at(half[i][j]) = Lanes8{};
        }
      }
      at(sums + channel) += sum;
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 0; j < 4; ++j) columns[j] = half[i][j];
        output_gradient_points(columns, 0, z + i * 6 * kTilesPoint + channel, kTilesPoint);
      }
    }
  }
}

TROIKA_VECTORIZE void transform_output(const TiledImage& image, const float* m, int64_t slice, Range tiles,
                                       const float* bias, bool relu, float* y) {
  const Lanes8 least = (relu ? 0.0f : -INFINITY) + Lanes8{};
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile, m += kSlice) {
    const Corner corner = corner_of(image, tile);
    const int64_t height = std::min<int64_t>(4, image.height - corner.y),
                  width = std::min<int64_t>(4, image.width - corner.x);
    for (int64_t channel = 0; channel < kSlice; channel += kTileLanes) {
      float half[4][6][kTileLanes], whole[4][4][kTileLanes];
      for (int64_t j = 0; j < 6; ++j)
        outputs(m + j * kTilesPoint + channel, 6 * kTilesPoint, half[0][j], 6 * kTileLanes);
      for (int64_t i = 0; i < 4; ++i) outputs(half[i][0], kTileLanes, whole[i][0], kTileLanes);
      const Lanes8 addend = bias ? at(bias + slice * kSlice + channel) : Lanes8{};
      float* const pixels =
          y + plane_of(image, corner.n, slice * kSlice + channel) + (corner.y * image.width + corner.x) * image.block;
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {
          const Lanes8 sum = at(whole[i][j]) + addend;
          at(pixels + (i * image.width + j) * image.block) = sum < least ? least : sum;  // NaN stays
        }
    }
  }
}

TROIKA_VECTORIZE void transform_weights(const float* weight, float* u) {
  constexpr int64_t kTap = kSlice * kSlice;
  for (int64_t i = 0; i < kTap; i += kTileLanes) {
    float half[6][3][kTileLanes];
    for (int64_t j = 0; j < 3; ++j) weight_points(weight + j * kTap + i, 3 * kTap, half[0][j], 3 * kTileLanes);
    for (int64_t k = 0; k < 6; ++k) weight_points(half[k][0], kTileLanes, u + k * 6 * kSlabPoint + i, kSlabPoint);
  }
}

TROIKA_VECTORIZE void transform_weight_gradient(const float* s, float* dweight) {
  constexpr int64_t kTap = kSlice * kSlice;
  for (int64_t i = 0; i < kTap; i += kTileLanes) {
    float half[3][6][kTileLanes];
    for (int64_t j = 0; j < 6; ++j)
      weight_gradients(s + j * kBlockPoint + i, 6 * kBlockPoint, half[0][j], 6 * kTileLanes);
    for (int64_t k = 0; k < 3; ++k) weight_gradients(half[k][0], kTileLanes, dweight + k * 3 * kTap + i, kTap);
  }
}

TROIKA_VECTORIZE void rotate_weights(const float* weight, float* rotated) {
  constexpr int64_t kTap = kSlice * kSlice;
  for (int64_t tap = 0; tap < kTaps; ++tap)
    for (int64_t out = 0; out < kSlice; ++out)
      for (int64_t in = 0; in < kSlice; ++in)
        rotated[(kTaps - 1 - tap) * kTap + out * kSlice + in] = weight[tap * kTap + in * kSlice + out];
}

namespace {

// Rows [0, kRows) of the product.
template <typename Lanes, int kRows>
[[gnu::always_inline]] inline void multiply_rows(const float* v, int64_t slices, const float* u, float* m,
                                                 bool is_first) {
  constexpr int kWidth = sizeof(Lanes) / sizeof(float), kParts = kSlice / kWidth;
  Lanes sum[kRows][kParts], row[kParts];
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kParts; ++p)
      sum[r][p] = is_first ? Lanes{} : *reinterpret_cast<const Lanes*>(m + r * kSlice + p * kWidth);
  for (int64_t slice = 0; slice < slices; ++slice, v += kPoints * kTilesPoint)
    for (int64_t c = 0; c < kSlice; ++c, u += kSlice) {
      for (int p = 0; p < kParts; ++p) row[p] = *reinterpret_cast<const Lanes*>(u + p * kWidth);
      for (int r = 0; r < kRows; ++r)
        for (int p = 0; p < kParts; ++p) sum[r][p] += v[r * kSlice + c] * row[p];
    }
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kParts; ++p) *reinterpret_cast<Lanes*>(m + r * kSlice + p * kWidth) = sum[r][p];
}

// Rows in steps of kMost, the last ones in one or two steps of kFew if that leaves fewer over: 32
// are 6 6 6 6 4 4.
template <typename Lanes, int kMost, int kFew>
[[gnu::always_inline]] inline void multiply_tiles(const float* v, int64_t tiles, int64_t slices, const float* u,
                                                  float* m, bool is_first) {
  static_assert(kGroup % kMost == 0 && kFew <= kMost);
  const int64_t rest = tiles % kMost;
  int64_t few = rest > 0 && rest <= kFew ? 1 : 0;
  if (rest > 0 && tiles > kMost && kMost + rest <= 2 * kFew) few = 2;
  const int64_t most = (tiles - few * kFew + kMost - 1) / kMost;
  for (int64_t i = 0; i < most; ++i, v += kMost * kSlice, m += kMost * kSlice)
    multiply_rows<Lanes, kMost>(v, slices, u, m, is_first);
  for (int64_t i = 0; i < few; ++i, v += kFew * kSlice, m += kFew * kSlice)
    multiply_rows<Lanes, kFew>(v, slices, u, m, is_first);
}

template <typename Lanes, int kRows>
[[gnu::always_inline]] inline void accumulate_rows(const float* v, const float* z, int64_t tiles, float* s) {
  constexpr int kWidth = sizeof(Lanes) / sizeof(float), kParts = kSlice / kWidth;
  static_assert(kSlice % kRows == 0);
  for (int64_t first = 0; first < kSlice; first += kRows, s += kRows * kSlice) {
    Lanes sum[kRows][kParts], row[kParts];
    for (int r = 0; r < kRows; ++r)
      for (int p = 0; p < kParts; ++p) sum[r][p] = *reinterpret_cast<const Lanes*>(s + r * kSlice + p * kWidth);
    const float *left = v + first, *right = z;
    for (int64_t tile = 0; tile < tiles; ++tile, left += kSlice, right += kSlice) {
      for (int p = 0; p < kParts; ++p) row[p] = *reinterpret_cast<const Lanes*>(right + p * kWidth);
      for (int r = 0; r < kRows; ++r)
        for (int p = 0; p < kParts; ++p) sum[r][p] += left[r] * row[p];
    }
    for (int r = 0; r < kRows; ++r)
      for (int p = 0; p < kParts; ++p) *reinterpret_cast<Lanes*>(s + r * kSlice + p * kWidth) = sum[r][p];
  }
}

// As many sums as fit into registers together with a row of weights: 12 of 16 with 8 lanes, 11 or
// 16 of 32 with 16.
#ifdef TROIKA_TARGET
TROIKA_TARGET("arch=x86-64-v4")
void multiply_avx512(const float* v, int64_t tiles, int64_t slices, const float* u, float* m, bool is_first) {
  multiply_tiles<Lanes16, 11, 11>(v, tiles, slices, u, m, is_first);
}
TROIKA_TARGET("arch=x86-64-v3")
void multiply_avx2(const float* v, int64_t tiles, int64_t slices, const float* u, float* m, bool is_first) {
  multiply_tiles<Lanes8, 6, 4>(v, tiles, slices, u, m, is_first);
}
#endif
void multiply_sse(const float* v, int64_t tiles, int64_t slices, const float* u, float* m, bool is_first) {
  multiply_tiles<Lanes4, 3, 3>(v, tiles, slices, u, m, is_first);
}

#ifdef TROIKA_TARGET
TROIKA_TARGET("arch=x86-64-v4")
void accumulate_avx512(const float* v, const float* z, int64_t tiles, float* s) {
  accumulate_rows<Lanes16, 16>(v, z, tiles, s);
}
TROIKA_TARGET("arch=x86-64-v3")
void accumulate_avx2(const float* v, const float* z, int64_t tiles, float* s) {
  accumulate_rows<Lanes8, 4>(v, z, tiles, s);
}
#endif
void accumulate_sse(const float* v, const float* z, int64_t tiles, float* s) {
  accumulate_rows<Lanes4, 2>(v, z, tiles, s);
}

}  // namespace

void multiply(const float* v, int64_t tiles, int64_t slices, const float* u, float* m, bool is_first) {
#ifdef TROIKA_TARGET
  if (widest_vectors() == Vectors::avx512) return multiply_avx512(v, tiles, slices, u, m, is_first);
  if (widest_vectors() == Vectors::avx2) return multiply_avx2(v, tiles, slices, u, m, is_first);
#endif
  multiply_sse(v, tiles, slices, u, m, is_first);
}

void accumulate(const float* v, const float* z, int64_t tiles, float* s) {
#ifdef TROIKA_TARGET
  if (widest_vectors() == Vectors::avx512) return accumulate_avx512(v, z, tiles, s);
  if (widest_vectors() == Vectors::avx2) return accumulate_avx2(v, z, tiles, s);
#endif
  accumulate_sse(v, z, tiles, s);
}

}  // namespace troika::cpu::winograd
