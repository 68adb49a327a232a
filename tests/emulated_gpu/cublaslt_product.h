// A product of matrices as cuBLASLt's descriptors define it: its requirements, the choice of a
// kernel, and the computation.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "elements.h"

namespace emulated_gpu::cublaslt {

// Thrown below the C functions, which return the status.
struct Refusal {
  cublasStatus_t status;
};

inline void require(bool fact, cublasStatus_t status) {
  if (!fact) throw Refusal{status};
}

struct Layout : cublasLtMatrixLayoutOpaque_t {
  static constexpr const char* kKind = "cuBLASLt layouts";
  DType dtype;
  int64_t rows, columns, leading;

  int64_t bytes() const { return ((columns - 1) * leading + rows) * static_cast<int64_t>(size_of(dtype)); }
};

// The attributes that the caller has set, by name.
struct Attributes {
  struct Rule {
    int name;
    size_t bytes;
  };

  void set(const std::vector<Rule>& rules, int name, const void* value, size_t bytes) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.name == name; });
    require(rule != rules.end() && value && bytes == rule->bytes, CUBLAS_STATUS_INVALID_VALUE);
    std::memcpy(&(values[name] = 0), value, bytes);
  }
  template <typename T>
  T get(int name, T otherwise) const {
    const auto found = values.find(name);
    if (found != values.end()) std::memcpy(&otherwise, &found->second, sizeof otherwise);
    return otherwise;
  }

  std::map<int, uint64_t> values;
};

struct Operation : cublasLtMatmulDescOpaque_t {
  static constexpr const char* kKind = "cuBLASLt operations";
  cublasComputeType_t compute;
  Attributes attributes;

  bool is_transposed(int name) const {
    const auto operation = static_cast<cublasOperation_t>(attributes.get<int32_t>(name, CUBLAS_OP_N));
    require(operation == CUBLAS_OP_N || operation == CUBLAS_OP_T, CUBLAS_STATUS_NOT_SUPPORTED);
    return operation == CUBLAS_OP_T;
  }
  uint32_t epilogue() const {
    return attributes.get<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  }
  void* vector() const { return attributes.get<void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr); }
};

struct Preference : cublasLtMatmulPreferenceOpaque_t {
  static constexpr const char* kKind = "cuBLASLt preferences";
  Attributes attributes;

  uint32_t alignment(int name) const { return attributes.get<uint32_t>(name, 256); }
};

constexpr uint32_t kWithBias = CUBLASLT_EPILOGUE_BIAS, kWithRelu = CUBLASLT_EPILOGUE_RELU;
constexpr uint32_t kGradients = CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB;

// The product D[m, n] = op(A)[m, k] op(B)[k, n] that the descriptors define.
struct Product {
  int64_t m, n, k;
  Layout a, b, c, d;
  bool transpose_a, transpose_b, tf32;
  uint32_t epilogue;

  int64_t vector_length() const { return epilogue & CUBLASLT_EPILOGUE_BGRADB ? n : m; }
  bool has_vector() const { return epilogue & (kWithBias | kGradients); }

  // Returns a hash of everything that the choice of a kernel depends on.
  uint64_t fingerprint() const {
    uint64_t sum = 14695981039346656037u;
    auto add = [&](auto... numbers) { ((sum = (sum ^ static_cast<uint64_t>(numbers)) * 1099511628211u), ...); };
    add(m, n, k, transpose_a, transpose_b, tf32, epilogue, a.leading, b.leading, c.leading, d.leading);
    add(a.dtype, b.dtype, c.dtype, d.dtype);
    return sum;
  }
};

// The content of the opaque cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t fingerprint, workspace_bytes;
  int32_t id, splits, scheme;
  uint32_t alignment_a, alignment_b, alignment_c, alignment_d, alignment_vector;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

struct Call {
  Product product;
  Algorithm algorithm;
  float alpha, beta;
  const void *a, *b, *c;
  void *d, *vector, *workspace;
};

DType dtype_of(cudaDataType_t type);

// Throws Refusal if the matrices do not fit each other, or if cuBLASLt has no kernel for their
// types and the epilogue.
Product product_of(const Operation& op, const Layout& a, const Layout& b, const Layout& c, const Layout& d);

// Returns the largest power of two, up to 16, that divides the address.
uint32_t alignment_of(const void* p);

// Returns the kernels for a product whose matrices A, B, C and D have at least the alignments
// `aligned`, the best first: those for the widest vectors, with split sums and without.
std::vector<Algorithm> choose(const Product& p, const Operation& op, uint64_t most_workspace, uint32_t schemes,
                              const uint32_t (&aligned)[4]);

// Throws Refusal if the pointers do not fit the kernel or each other. The real library does not
// always report this; its result would be wrong.
void check_memory(const Call& call, size_t workspace_bytes);

void compute(const Call& call);

}  // namespace emulated_gpu::cublaslt
