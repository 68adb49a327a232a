// Products of matrices of floats, on which convolutions and cuBLASLt are built.
#pragma once

#include <cstdint>

namespace emulated_gpu {

// Element (i, j) is data[i * row + j * column].
struct Matrix {
  const float* data;
  int64_t row, column;
};

// Computes c[m, n] += a[m, k] b[k, n]. `c_row` is the distance between rows of c, in elements. Sums
// are f32, of `block` products at a time: another block size rounds differently.
void multiply_add(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, float* c, int64_t c_row,
                  int64_t block);

}  // namespace emulated_gpu
