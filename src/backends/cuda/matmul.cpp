// cuBLASLt counts columns first: it is asked for the transposed product, with the operands
// exchanged.
#include "backends/cuda/matmul.h"

#include "backends/cuda/check.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr const char* kWhat = "a matrix product";
constexpr uint64_t kMostWorkspace = 32 << 20;

cudaDataType_t blas_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return CUDA_R_32F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    default: throw Error(Status::internal, text("cuBLASLt was asked for a product of ", name_of(dtype)));
  }
}

MatmulOperation make_operation(cublasComputeType_t compute) {
  cublasLtMatmulDesc_t operation = nullptr;
  check(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), kWhat);
  return MatmulOperation(operation);
}

template <typename T>
void set(const MatmulOperation& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value), kWhat);
}

// Which kernels may be chosen.
MatmulPreference make_preference() {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), kWhat);
  return MatmulPreference(preference);
}

template <typename T>
void set(const MatmulPreference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value), kWhat);
}

// A row-major matrix is a column-major one with rows and columns exchanged.
MatrixLayout make_layout(DType dtype, int64_t rows, int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, blas_type_of(dtype), static_cast<uint64_t>(columns),
                                   static_cast<uint64_t>(rows), columns),
        kWhat);
  return MatrixLayout(layout);
}

cublasLtEpilogue_t epilogue_of(Product::Epilogue epilogue) {
  switch (epilogue) {
    case Product::Epilogue::add_bias: return CUBLASLT_EPILOGUE_BIAS;
    case Product::Epilogue::sum_a: return CUBLASLT_EPILOGUE_BGRADB;  // cuBLASLt's B is our a
    default: return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// As messages name it.
std::string to_string(const Product& p) {
  return text(name_of(p.in), " [", p.m, ", ", p.k, "] and [", p.k, ", ", p.n, ']');
}

const char* suffix_of(Product::Epilogue epilogue) {
  switch (epilogue) {
    case Product::Epilogue::add_bias: return "_bias";
    case Product::Epilogue::sum_a: return "_sums";
    default: return "";
  }
}

}  // namespace

std::unique_ptr<Matmul> Matmul::create(const CudaDevice& device, const Product& p) {
  std::unique_ptr<Matmul> made(new Matmul);
  made->handle_ = device.cublas();
  made->has_vector_ = p.epilogue != Product::Epilogue::none;
  made->accumulates_ = p.accumulates;
  const cublasComputeType_t compute = p.tf32 && p.in == DType::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  made->operation_ = make_operation(compute);
  set(made->operation_, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(made->operation_, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(made->operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p.epilogue));
  if (made->has_vector_) {
    set(made->operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(blas_type_of(p.out)));
    // The choice looks at the address for its alignment alone.
    set(made->operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        reinterpret_cast<const void*>(uintptr_t{kMatrixAlignment}));
  }
  made->a_ = p.transpose_a ? make_layout(p.in, p.k, p.m) : make_layout(p.in, p.m, p.k);
  made->b_ = p.transpose_b ? make_layout(p.in, p.n, p.k) : make_layout(p.in, p.k, p.n);
  made->d_ = make_layout(p.out, p.m, p.n);

  const MatmulPreference preference = make_preference();
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(preference, attribute, p.alignment);
  // Partial sums stay f32.
  const uint32_t schemes =
      p.out == DType::f32 ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);

  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(made->handle_, made->operation_.get(), made->b_.get(), made->a_.get(),
                                     made->d_.get(), made->d_.get(), preference.get(), 1, &result, &found);
  if (status == CUBLAS_STATUS_SUCCESS) status = found > 0 ? result.state : CUBLAS_STATUS_NOT_SUPPORTED;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return nullptr;
  check(status, text(kWhat, " of ", to_string(p)));  // INVALID_VALUE: we have asked wrongly
  made->algorithm_ = result.algo;
  made->workspace_bytes_ = result.workspaceSize;
  int32_t id = -1;
  size_t written = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written), kWhat);
  made->name_ = text("algo", id, suffix_of(p.epilogue));
  return made;
}

void Matmul::run(const void* a, const void* b, void* d, void* vector, void* workspace, cudaStream_t stream) {
  const float one = 1, old = accumulates_ ? 1 : 0;
  if (has_vector_) set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  check(cublasLtMatmul(handle_, operation_.get(), &one, b, b_.get(), a, a_.get(), &old, d, d_.get(), d, d_.get(),
                       &algorithm_, workspace, workspace_bytes_, stream),
        kWhat);
}

std::unique_ptr<Matmul> make_matmul(const CudaDevice& device, const KernelRequest& r, Product product) {
  if (device.is_plan_only()) return nullptr;
  auto matmul = Matmul::create(device, product);
  if (!matmul && product.epilogue != Product::Epilogue::none) {
    product.epilogue = Product::Epilogue::none;
    matmul = Matmul::create(device, product);
  }
  if (!matmul)
    throw Error(Status::unsupported, text(r.node.op, " '", r.node.name, "' on ", device.id(),
                                          ": cuBLASLt has no product of ", to_string(product)));
  return matmul;
}

size_t workspace_of(const std::unique_ptr<Matmul>& matmul) {
  constexpr size_t kAligned = 256;
  return matmul ? (matmul->workspace_bytes() + kAligned - 1) / kAligned * kAligned : 0;
}

}  // namespace troika::cuda
