// Matrix products by cuBLASLt, row-major.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "core/dtype.h"
#include "device/kernel.h"

namespace troika::cuda {

constexpr uint32_t kMatrixAlignment = 16;  // of addresses, in bytes; allocations have 64

// d[m, n] = a[m, k] b[k, n]. If transposed, a is stored as [k, m] and b as [n, k].
struct Product {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  DType in = DType::f32, out = DType::f32;  // of a and b, of d; sums are f32
  bool tf32 = false;
  bool accumulates = false;  // d += a b
  // Additional work of the product, with a vector of type `out`.
  enum class Epilogue {
    none,
    add_bias,  // d[i, j] += vector[j]
    sum_a,     // vector[i] = the sum over k of a[i, k]
  } epilogue = Epilogue::none;
  uint32_t alignment = kMatrixAlignment;  // that the matrices have at least
};

class Matmul {
 public:
  // Returns the product with each of the kernels that cuBLASLt ranks highest, the best first, at
  // most `most`. Empty if cuBLASLt has none.
  static std::vector<std::unique_ptr<Matmul>> candidates(const CudaDevice& device, const Product& product, int most);

  // The kernel, its settings, and the additional work: "algo66_tile20_stages8_bias".
  const std::string& name() const { return name_; }
  bool has_epilogue() const { return has_vector_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  void run(const void* a, const void* b, void* d, void* vector, void* workspace, cudaStream_t stream);

 private:
  // The request to cuBLASLt. Products that differ only by their kernel share it: each run sets the
  // vector's address in it.
  struct Description {
    explicit Description(const Product& product);
    MatmulOperation operation;
    MatrixLayout a, b, d;
  };
  Matmul() = default;

  cublasLtHandle_t handle_ = nullptr;
  std::shared_ptr<const Description> description_;
  cublasLtMatmulAlgo_t algorithm_{};
  bool has_vector_ = false, accumulates_ = false;
  std::string name_;
  size_t workspace_bytes_ = 0;
};

// Returns a product of a node, without its epilogue if cuBLASLt has no kernel for that. Null on a
// device for planning only.
std::unique_ptr<Matmul> make_matmul(const CudaDevice& device, const KernelRequest& request, const Product& product);

// Returns up to `most` such products, each with another kernel. If `most` is above 1 and they have
// the epilogue, the best one without it follows. Empty on a device for planning only.
std::vector<std::unique_ptr<Matmul>> make_matmuls(const CudaDevice& device, const KernelRequest& request,
                                                  const Product& product, int most);

// Returns the bytes of such a product's workspace (null: none), rounded up so that other scratch
// may follow.
size_t workspace_of(const std::unique_ptr<Matmul>& matmul);

}  // namespace troika::cuda
