// Products of a warpgroup in software, by the layouts that the instructions' comments describe.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "backends/cuda/check.h"
#include "core/float16.h"
#include "hopper.h"
#include "support/test_seed.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kRows = 64, kDepth = 64, kSliceDepth = 16;  // of a; what all products sum over, and one of them
constexpr int kRowElements = 64, kBlockBytes = kDepth * kRowBytes;

// Stores `rows` rows of 64 elements in swizzled rows of 128 bytes.
void store_rows(uint32_t to, const uint16_t* from, int rows) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * 8; i += kGroup) {
    uint4 pack;
    std::memcpy(&pack, from + i * 8, sizeof pack);
    store_shared(to + static_cast<uint32_t>(i / 8 * kRowBytes + (i % 8 ^ i / 8 % 8) * 16), pack);
  }
}

template <int kColumns>
void write_results(const float (&d)[kColumns / 2], float* to) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  for (int i = 0; i < kColumns / 2; ++i) {
    const int row = thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    to[row * kColumns + column] = d[i];
  }
}

// a is stored as [64, depth] or, if it is transposed, as [depth, 64]; b as [128, depth].
template <bool kTransposes>
void multiply(const uint16_t* a, const uint16_t* b, float* to) {
  const uint32_t a_rows = shared_address(emulated_gpu::dynamic_shared()), b_rows = a_rows + kBlockBytes;
  store_rows(a_rows, a, kRows);
  store_rows(b_rows, b, 128);
  __syncthreads();
  float d[64];
  begin_products();
  for (int k = 0; k < kDepth / kSliceDepth; ++k)
    wgmma_shared<kTransposes>(Columns<128>(), d,
                              describe(a_rows) + moved_by(k * kSliceDepth * (kTransposes ? kRowBytes : 2)),
                              describe(b_rows) + moved_by(k * kSliceDepth * 2), k);
  end_products();
  wait_for_products<0>();
  write_results<128>(d, to);
}

// Both are stored as [depth, 64]; b has four such blocks.
void multiply_transposed(const uint16_t* a, const uint16_t* b, float* to) {
  const uint32_t a_rows = shared_address(emulated_gpu::dynamic_shared()), b_rows = a_rows + kBlockBytes;
  store_rows(a_rows, a, kDepth);
  store_rows(b_rows, b, 4 * kDepth);
  __syncthreads();
  float d[128] = {};
  begin_products();
  for (int k = 0; k < kDepth / kSliceDepth; ++k) {
    const uint64_t moved = moved_by(k * kSliceDepth * kRowBytes);
    wgmma_transposed(Columns<256>(), d, describe(a_rows) + moved, describe(b_rows, kBlockBytes) + moved);
  }
  end_products();
  wait_for_products<0>();
  write_results<256>(d, to);
}

class Products : public testing::Test {
 protected:
  void SetUp() override {
    check(cudaSetDevice(0), "GPU");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  }
  void TearDown() override { cudaStreamDestroy(stream_); }
  // Whole numbers, whose sums are exact.
  std::vector<uint16_t> numbers(int count) {
    std::vector<uint16_t> values(static_cast<size_t>(count));
    for (uint16_t& v : values) v = bf16_of_float(static_cast<float>(lot_() % 9) - 4);
    return values;
  }

  // Expects a(row, k) times b(column, k), summed over k.
  template <typename A, typename B>
  void expect_product(void (*kernel)(const uint16_t*, const uint16_t*, float*), const std::vector<uint16_t>& a,
                      const std::vector<uint16_t>& b, int columns, A a_place, B b_place) {
    std::vector<float> found(static_cast<size_t>(kRows * columns));
    launch(kernel, {1, kGroup, static_cast<int>(2 * (a.size() + b.size()))}, stream_, a.data(), b.data(), found.data());
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(stream_), "launch");
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < columns; ++column) {
        float sum = 0;
        for (int k = 0; k < kDepth; ++k)
          sum += float_of_bf16(a[static_cast<size_t>(a_place(row, k))]) *
                 float_of_bf16(b[static_cast<size_t>(b_place(column, k))]);
        ASSERT_EQ(found[static_cast<size_t>(row * columns + column)], sum) << "row " << row << ", column " << column;
      }
  }

 private:
  std::mt19937_64 lot_{test_seed()};
  cudaStream_t stream_ = nullptr;
};

int in_rows(int row, int k) { return row * kRowElements + k; }
int in_blocks(int column, int k) { return (column / 64 * kDepth + k) * kRowElements + column % 64; }

TEST_F(Products, OfBothOperandsInSharedMemory) {
  const auto a = numbers(kRows * kDepth), b = numbers(128 * kDepth);
  expect_product(multiply<false>, a, b, 128, in_rows, in_rows);
}

TEST_F(Products, OfATransposedFirstOperand) {
  const auto a = numbers(kRows * kDepth), b = numbers(128 * kDepth);
  expect_product(multiply<true>, a, b, 128, in_blocks, in_rows);
}

TEST_F(Products, OfTransposedOperandsInBlocksOf64Columns) {
  const auto a = numbers(kRows * kDepth), b = numbers(256 * kDepth);
  expect_product(multiply_transposed, a, b, 256, in_blocks, in_blocks);
}

}  // namespace
}  // namespace troika::cuda::hopper
