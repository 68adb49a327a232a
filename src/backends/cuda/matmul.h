// Matrix products by cuBLASLt, row-major.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/cuda_device.h"
#include "core/dtype.h"
#include "device/kernel.h"

namespace troika::cuda {

// d[m, n] = a[m, k] b[k, n]; a lies [k, m] where transposed, and b [n, k].
struct Product {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  DType in = DType::f32, out = DType::f32;  // of a and b, of d; sums are f32
  bool tf32 = false;
  bool accumulates = false;  // d += a b
  // What is done besides, with a vector of type `out`.
  enum class Epilogue {
    none,
    add_bias,  // d[i, j] += vector[j]
    sum_a,     // vector[i] = the sum over k of a[i, k]
  } epilogue = Epilogue::none;
};

class Matmul {
 public:
  // Null where cuBLASLt has no kernel for it.
  static std::unique_ptr<Matmul> create(const CudaDevice& device, const Product& product);

  const std::string& name() const { return name_; }  // "algo66", and what is done besides
  bool has_epilogue() const { return has_vector_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  void run(const void* a, const void* b, void* d, void* vector, void* workspace, cudaStream_t stream);

 private:
  Matmul() = default;

  cublasLtHandle_t handle_ = nullptr;
  MatmulOperation operation_;
  MatrixLayout a_, b_, d_;
  cublasLtMatmulAlgo_t algorithm_{};
  bool has_vector_ = false, accumulates_ = false;
  std::string name_;
  size_t workspace_bytes_ = 0;
};

// A product of a node, without its epilogue where cuBLASLt has no kernel for that. Null on a device that is only planned for.
std::unique_ptr<Matmul> make_matmul(const CudaDevice& device, const KernelRequest& request, Product product);

// Of such a product (null: none), rounded up so that other scratch may follow.
size_t workspace_of(const std::unique_ptr<Matmul>& matmul);

}  // namespace troika::cuda
