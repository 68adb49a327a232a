// Tiles of as many rows as fit into registers together with a panel's row.
#include "backends/cpu/packed_product.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/threads.h"
#include "backends/cpu/vectors.h"
#include "core/split.h"

namespace troika::cpu {
namespace {

typedef float Lanes4 __attribute__((vector_size(16)));
typedef float Lanes8 __attribute__((vector_size(32)));
typedef float Lanes16 __attribute__((vector_size(64)));

// No row is assumed to be aligned.
template <typename Lanes>
[[gnu::always_inline]] inline void load(const float* from, Lanes& lanes) {
  std::memcpy(&lanes, from, sizeof lanes);
}

template <typename Lanes>
[[gnu::always_inline]] inline void store(const Lanes& lanes, float* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

// One product: element (r, k) of a is a[r * a_stride + k * a_step], a step of 1 or of a panel's
// row.
struct Product {
  const float* a;
  int64_t a_stride, a_step, rows, depth;
  const float* packed;
  int64_t columns;
  float* c;
  int64_t c_stride;
  bool adds;
};

// c [kRows][16] (+)= a [kRows, depth] * panel.
template <typename Lanes, int64_t kStep, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, int64_t a_stride, int64_t depth, const float* panel,
                                                 float* c, int64_t c_stride, bool adds) {
  constexpr int kWidth = sizeof(Lanes) / sizeof(float), kParts = kPanelColumns / kWidth;
  Lanes sum[kRows][kParts] = {}, row[kParts];
  for (int r = 0; adds && r < kRows; ++r)
    for (int p = 0; p < kParts; ++p) load(c + r * c_stride + p * kWidth, sum[r][p]);
  for (int64_t k = 0; k < depth; ++k, panel += kPanelColumns) {
    for (int p = 0; p < kParts; ++p) load(panel + p * kWidth, row[p]);
    for (int r = 0; r < kRows; ++r)
      for (int p = 0; p < kParts; ++p) sum[r][p] += a[r * a_stride + k * kStep] * row[p];
  }
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kParts; ++p) store(sum[r][p], c + r * c_stride + p * kWidth);
}

// The tile of `rows`, at most kRows.
template <typename Lanes, int64_t kStep, int kRows>
[[gnu::always_inline]] inline void multiply_rows(const Product& p, int64_t first, int64_t rows, const float* panel,
                                                 float* c, int64_t c_stride) {
  if (rows == kRows)
    multiply_tile<Lanes, kStep, kRows>(p.a + first * p.a_stride, p.a_stride, p.depth, panel, c, c_stride, p.adds);
  else if constexpr (kRows > 1)
    multiply_rows<Lanes, kStep, kRows - 1>(p, first, rows, panel, c, c_stride);
}

// Panel by panel, which stays in the first cache for all rows; these in tiles of about the same
// height.
template <typename Lanes, int kMost, int64_t kStep>
[[gnu::always_inline]] inline void multiply_panels(const Product& p) {
  const int64_t tiles = (p.rows + kMost - 1) / kMost;
  for (int64_t column = 0; column < p.columns; column += kPanelColumns) {
    const float* const panel = p.packed + column * p.depth;
    const int64_t width = std::min(kPanelColumns, p.columns - column);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const Range own = balanced_split(p.rows, tiles, tile);
      float* const c = p.c + own.begin * p.c_stride + column;
      if (width == kPanelColumns) {
        multiply_rows<Lanes, kStep, kMost>(p, own.begin, own.size(), panel, c, p.c_stride);
        continue;
      }
      float whole[kMost * kPanelColumns] = {};  // the last panel's tile: c is narrower
      for (int64_t r = 0; r < own.size(); ++r) std::copy_n(c + r * p.c_stride, width, whole + r * kPanelColumns);
      multiply_rows<Lanes, kStep, kMost>(p, own.begin, own.size(), panel, whole, kPanelColumns);
      for (int64_t r = 0; r < own.size(); ++r) std::copy_n(whole + r * kPanelColumns, width, c + r * p.c_stride);
    }
  }
}

template <typename Lanes, int kMost>
[[gnu::always_inline]] inline void multiply_by_step(const Product& p) {
  p.a_step == 1 ? multiply_panels<Lanes, kMost, 1>(p) : multiply_panels<Lanes, kMost, kPanelColumns>(p);
}

// 12 of 16 registers for sums with 8 lanes, 12 of 32 with 16.
#ifdef TROIKA_TARGET
TROIKA_TARGET("arch=x86-64-v4")
void multiply_avx512(const Product& product) { multiply_by_step<Lanes16, 12>(product); }
TROIKA_TARGET("arch=x86-64-v3")
void multiply_avx2(const Product& product) { multiply_by_step<Lanes8, 6>(product); }
#endif
void multiply_sse(const Product& product) { multiply_by_step<Lanes4, 3>(product); }

void multiply_here(const Product& product) {
#ifdef TROIKA_TARGET
  if (widest_vectors() == Vectors::avx512) return multiply_avx512(product);
  if (widest_vectors() == Vectors::avx2) return multiply_avx2(product);
#endif
  multiply_sse(product);
}

TROIKA_VECTORIZE void add_row(const float* row, int64_t n, float* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] += row[i];
}

}  // namespace

void pack_matrix(const float* matrix, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
                 float* packed) {
  constexpr int64_t kGrain = 16384;  // floats a thread at least
  const int64_t panel_grain = kGrain / (depth * kPanelColumns) + 1;
  parallel_for((columns + kPanelColumns - 1) / kPanelColumns, panel_grain, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kPanelColumns, width = std::min(kPanelColumns, columns - column);
      float* to = packed + column * depth;
      for (int64_t k = 0; k < depth; ++k, to += kPanelColumns) {
        const float* const from = matrix + k * row_stride + column * column_stride;
        for (int64_t c = 0; c < width; ++c) to[c] = from[c * column_stride];
        std::fill(to + width, to + kPanelColumns, 0.0f);
      }
    }
  });
}

void multiply_packed(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* packed,
                     int64_t columns, float* c, int64_t c_stride, bool adds) {
  multiply_here({a, a_stride, 1, rows, depth, packed, columns, c, c_stride, adds});
}

void multiply_transposed(const float* packed_a, const float* packed_b, int64_t depth, int64_t rows, int64_t columns,
                         float* c) {
  constexpr int64_t kGrain = 1 << 17;  // products a thread at least
  const int64_t panel_grain = kGrain / (depth * columns * kPanelColumns) + 1;
  parallel_for((rows + kPanelColumns - 1) / kPanelColumns, panel_grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kPanelColumns; row < std::min(end * kPanelColumns, rows); row += kPanelColumns)
      multiply_here({packed_a + row * depth, 1, kPanelColumns, std::min(kPanelColumns, rows - row), depth, packed_b,
                     columns, c + row * columns, columns, false});
  });
}

void sum_rows(const float* a, int64_t depth, int64_t columns, float* sums) {
  parallel_for(columns, std::max<int64_t>(64, 65536 / depth), [&](int64_t begin, int64_t end) {
    std::fill(sums + begin, sums + end, 0.0f);
    for (int64_t k = 0; k < depth; ++k) add_row(a + k * columns + begin, end - begin, sums + begin);
  });
}

}  // namespace troika::cpu
