// cuBLASLt counts columns first: it is asked for the transposed product, with the operands
// exchanged.
#include "backends/cuda/matmul.h"

#include <algorithm>

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

// The settings of a kernel, as far as cuBLASLt has set them.
std::string settings_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::string settings;
  const auto add = [&](const char* name, cublasLtMatmulAlgoConfigAttributes_t attribute, auto unset) {
    auto value = unset;
    size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
    if (status == CUBLAS_STATUS_SUCCESS && value != unset) settings += text('_', name, value);
  };
  add("tile", CUBLASLT_ALGO_CONFIG_TILE_ID, uint32_t{CUBLASLT_MATMUL_TILE_UNDEFINED});
  add("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, uint32_t{CUBLASLT_MATMUL_STAGES_UNDEFINED});
  add("split", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{1});
  add("scheme", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  add("swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, uint32_t{0});
  add("option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, uint32_t{0});
  add("shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, uint16_t{CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED});
  add("cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, uint16_t{CUBLASLT_CLUSTER_SHAPE_AUTO});
  return settings;
}

}  // namespace

Matmul::Description::Description(const Product& p) {
  const cublasComputeType_t compute = p.tf32 && p.in == DType::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  operation = make_operation(compute);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p.epilogue));
  if (p.epilogue != Product::Epilogue::none) {
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(blas_type_of(p.out)));
    // The choice looks at the address for its alignment alone.
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(uintptr_t{kMatrixAlignment}));
  }
  a = p.transpose_a ? make_layout(p.in, p.k, p.m) : make_layout(p.in, p.m, p.k);
  b = p.transpose_b ? make_layout(p.in, p.n, p.k) : make_layout(p.in, p.k, p.n);
  d = make_layout(p.out, p.m, p.n);
}

std::vector<std::unique_ptr<Matmul>> Matmul::candidates(const CudaDevice& device, const Product& p, int most) {
  const MatmulPreference preference = make_preference();
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(preference, attribute, p.alignment);
  // Partial sums stay f32.
  const uint32_t schemes =
      p.out == DType::f32 ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);

  const auto description = std::make_shared<const Description>(p);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(most));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      device.cublas(), description->operation.get(), description->b.get(), description->a.get(), description->d.get(),
      description->d.get(), preference.get(), most, results.data(), &found);
  std::vector<std::unique_ptr<Matmul>> all;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return all;
  const auto check_answer = [&](cublasStatus_t answer) {
    check(answer, text(kWhat, " of ", to_string(p)));  // INVALID_VALUE: we have asked wrongly
  };
  check_answer(status);
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<size_t>(i)];
    if (result.state == CUBLAS_STATUS_NOT_SUPPORTED) continue;
    check_answer(result.state);
    int32_t id = -1;
    size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written), kWhat);
    const std::string name = text("algo", id, settings_of(result.algo), suffix_of(p.epilogue));
    if (std::any_of(all.begin(), all.end(), [&](const auto& other) { return other->name_ == name; })) continue;
    std::unique_ptr<Matmul> made(new Matmul);
    made->handle_ = device.cublas();
    made->description_ = description;
    made->has_vector_ = p.epilogue != Product::Epilogue::none;
    made->accumulates_ = p.accumulates;
    made->algorithm_ = result.algo;
    made->workspace_bytes_ = result.workspaceSize;
    made->name_ = name;
    all.push_back(std::move(made));
  }
  return all;
}

void Matmul::run(const void* a, const void* b, void* d, void* vector, void* workspace, cudaStream_t stream) {
  const float one = 1, old = accumulates_ ? 1 : 0;
  const Description& of = *description_;
  if (has_vector_) set(of.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  check(cublasLtMatmul(handle_, of.operation.get(), &one, b, of.b.get(), a, of.a.get(), &old, d, of.d.get(), d,
                       of.d.get(), &algorithm_, workspace, workspace_bytes_, stream),
        kWhat);
}

std::unique_ptr<Matmul> make_matmul(const CudaDevice& device, const KernelRequest& request, const Product& product) {
  if (device.is_plan_only()) return nullptr;
  return std::move(make_matmuls(device, request, product, 1).front());
}

std::vector<std::unique_ptr<Matmul>> make_matmuls(const CudaDevice& device, const KernelRequest& r,
                                                  const Product& product, int most) {
  if (device.is_plan_only()) return {};
  auto matmuls = Matmul::candidates(device, product, most);
  if (product.epilogue != Product::Epilogue::none && (matmuls.empty() || most > 1)) {
    Product plain = product;
    plain.epilogue = Product::Epilogue::none;
    const int count = matmuls.empty() ? most : 1;
    for (auto& matmul : Matmul::candidates(device, plain, count)) matmuls.push_back(std::move(matmul));
  }
  if (matmuls.empty())
    throw Error(Status::unsupported, text(r.node.op, " '", r.node.name, "' on ", device.id(),
                                          ": cuBLASLt has no product of ", to_string(product)));
  return matmuls;
}

size_t workspace_of(const std::unique_ptr<Matmul>& matmul) {
  constexpr size_t kAligned = 256;
  return matmul ? (matmul->workspace_bytes() + kAligned - 1) / kAligned * kAligned : 0;
}

}  // namespace troika::cuda
