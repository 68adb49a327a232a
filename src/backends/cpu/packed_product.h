// Products of rows with a matrix that is packed for them: the steps of a recurrent layer, each a
// few rows by the same weights.
//
// A number of the result is one sum in the order of the depth, however the rows are cut: it does
// not depend on threads.
#pragma once

#include <cstdint>

namespace troika::cpu {

// Floats that a matrix [depth, columns] takes: panels [depth][16], the last one filled up with
// zeros.
constexpr int64_t kPanelColumns = 16;
constexpr int64_t packed_floats(int64_t depth, int64_t columns) {
  return depth * ((columns + kPanelColumns - 1) / kPanelColumns) * kPanelColumns;
}

// Packs the matrix [depth, columns] whose element (k, c) is matrix[k * row_stride + c *
// column_stride]; by the whole team.
void pack_matrix(const float* matrix, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
                 float* packed);

// Computes c [rows, columns] = a [rows, depth] * packed, or adds that to c. Rows of a and c are
// strides apart. Runs on this thread.
void multiply_packed(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* packed,
                     int64_t columns, float* c, int64_t c_stride, bool adds);

// c [rows, columns] = a [depth, rows], transposed, * b [depth, columns], of two packed matrices; by
// the whole team.
void multiply_transposed(const float* packed_a, const float* packed_b, int64_t depth, int64_t rows, int64_t columns,
                         float* c);

// sums [columns] of the rows of a [depth, columns]; by the whole team.
void sum_rows(const float* a, int64_t depth, int64_t columns, float* sums);

}  // namespace troika::cpu
