// Products of matrices of floats, what convolutions and cuBLASLt come down to.
#pragma once

#include <cstdint>

namespace emulated_gpu {

// Element (i, j) is data[i * row + j * column].
struct Matrix {
  const float* data;
  int64_t row, column;
};

// c[m, n] += a[m, k] b[k, n]. c's rows lie c_row apart. Sums are f32, of `block` products at a time: another block rounds
// otherwise.
void multiply_add(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, float* c, int64_t c_row,
                  int64_t block);

}  // namespace emulated_gpu
