// A blocked product. Panels of a and b are packed, so that the inner loop reads both sequentially,
// whatever their layouts.
#include "matrix_product.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace emulated_gpu {
namespace {

constexpr int64_t kRows = 4, kColumns = 8;  // of c, whose sums stay in registers

// Four floats in a vector register. Without vectors the product would be too slow for whole
// training steps.
typedef float Four __attribute__((vector_size(16)));

// panel[p][i] = matrix(first + i, p), 0 beyond the last of `lines`.
void pack(const float* data, int64_t line, int64_t step, int64_t first, int64_t lines, int64_t width, int64_t k,
          float* panel) {
  const int64_t count = std::min(width, lines - first);
  for (int64_t i = 0; i < width; ++i) {
    const float* from = data + (first + i) * line;
    for (int64_t p = 0; p < k; ++p) panel[p * width + i] = i < count ? from[p * step] : 0;
  }
}

// sums[kRows][kColumns] of k products each.
void multiply_panels(const float* a, const float* b, int64_t k, float* sums) {
  Four s[kRows][2] = {};
  for (int64_t p = 0; p < k; ++p) {
    Four low, high;
    std::memcpy(&low, b + p * kColumns, sizeof low);
    std::memcpy(&high, b + p * kColumns + 4, sizeof high);
    for (int64_t i = 0; i < kRows; ++i) {
      const float x = a[p * kRows + i];
      s[i][0] += x * low;
      s[i][1] += x * high;
    }
  }
  std::memcpy(sums, s, sizeof s);
}

}  // namespace

void multiply_add(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, float* c, int64_t c_row,
                  int64_t block) {
  const int64_t panels = (n + kColumns - 1) / kColumns;
  std::vector<float> a_panel(static_cast<size_t>(std::min(block, k) * kRows));
  std::vector<float> b_panels(static_cast<size_t>(std::min(block, k) * panels * kColumns));
  for (int64_t p = 0; p < k; p += block) {
    const int64_t depth = std::min(block, k - p);
    for (int64_t j = 0; j < panels; ++j)
      pack(b.data + p * b.row, b.column, b.row, j * kColumns, n, kColumns, depth, &b_panels[j * kColumns * depth]);
    for (int64_t i = 0; i < m; i += kRows) {
      pack(a.data + p * a.column, a.row, a.column, i, m, kRows, depth, a_panel.data());
      for (int64_t j = 0; j < panels; ++j) {
        float sums[kRows * kColumns];
        multiply_panels(a_panel.data(), &b_panels[j * kColumns * depth], depth, sums);
        const int64_t columns = std::min(kColumns, n - j * kColumns);
        for (int64_t row = 0; row < std::min(kRows, m - i); ++row)
          for (int64_t column = 0; column < columns; ++column)
            c[(i + row) * c_row + j * kColumns + column] += sums[row * kColumns + column];
      }
    }
  }
}

}  // namespace emulated_gpu
