// Tests of kernels on a GPU, or on one in software, and their memory.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "backends/cuda/check.h"
#include "support/test_seed.h"

namespace troika::cuda {

// The compute capability of the first GPU, times 10; 0: there is none.
inline int compute_capability() {
  int count = 0, major = 0, minor = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "GPU");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "GPU");
  return major * 10 + minor;
}

// Numbers on the GPU. 16-bit floats are their bits.
template <typename T>
class Memory {
 public:
  Memory(size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    check(cudaMalloc(reinterpret_cast<void**>(&address_), count * sizeof(T)), "memory");
  }
  ~Memory() { cudaFree(address_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T* get() const { return address_; }
  void set(const std::vector<T>& values) {
    check(cudaMemcpyAsync(address_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice, stream_), "copy");
    check(cudaStreamSynchronize(stream_), "copy");
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    check(cudaMemcpyAsync(values.data(), address_, count_ * sizeof(T), cudaMemcpyDeviceToHost, stream_), "copy");
    check(cudaStreamSynchronize(stream_), "copy");
    return values;
  }
  void poison() { set(std::vector<T>(count_, poison_value())); }

 private:
  static T poison_value() {
    if constexpr (std::is_same_v<T, float>)
      return std::nanf("");
    else
      return static_cast<T>(0x7fff);  // NaN in bf16, and in f16
  }
  T* address_ = nullptr;
  const size_t count_;
  const cudaStream_t stream_;
};

// A test on the first GPU, which must have a compute capability from kLeast to kMost, times 10.
template <typename Parameter, int kLeast, int kMost = INT_MAX>
class KernelTest : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    const int found = compute_capability();
    if (found < kLeast || found > kMost)
      GTEST_SKIP() << "no GPU of compute capability " << kLeast / 10 << "." << kLeast % 10
                   << (kMost > kLeast ? " or later" : "");
    check(cudaSetDevice(0), "GPU");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  }
  void TearDown() override {
    if (stream_) cudaStreamDestroy(stream_);
  }

  std::mt19937_64 lot_{test_seed()};
  cudaStream_t stream_ = nullptr;
};

}  // namespace troika::cuda
