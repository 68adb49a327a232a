// cuBLASLt in software: products of column-major matrices in f32, bf16 and f16 with their
// epilogues. It refuses calls
// - that cuBLASLt documents as refused,
// - whose results cuBLASLt would silently get wrong,
// - and some of the calls that cuBLASLt may refuse.
#include <cublasLt.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "cublaslt_heuristic.h"
#include "cublaslt_product.h"
#include "gpu.h"
#include "live_objects.h"

namespace emulated_gpu::cublaslt {
namespace {

template <typename Call>
cublasStatus_t status_of(Call&& call) {
  try {
    call();
    return CUBLAS_STATUS_SUCCESS;
  } catch (const Refusal& refusal) {
    return refusal.status;
  } catch (const std::bad_alloc&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
}

struct Handle {
  static constexpr const char* kKind = "cuBLASLt handles";

  int gpu;
};

template <typename T, typename Opaque>
std::shared_ptr<T> described(Opaque* opaque) {
  auto found = live<T>().find(static_cast<T*>(opaque));
  require(found != nullptr, CUBLAS_STATUS_INVALID_VALUE);
  return found;
}

std::shared_ptr<Handle> live_handle(cublasLtHandle_t handle) {
  auto found = live<Handle>().find(handle);
  require(found != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  require(found->gpu == current_gpu(), CUBLAS_STATUS_EXECUTION_FAILED);
  return found;
}

std::mutex refused_mutex;
std::vector<Refused> refused;

// Returns the answer that a test has requested; nullopt if there is none.
std::optional<Refused> next_refused() {
  const std::lock_guard lock(refused_mutex);
  if (refused.empty()) return std::nullopt;
  const Refused answer = refused.front();
  refused.erase(refused.begin());
  return answer;
}

}  // namespace

void refuse_next(std::vector<Refused> answers) {
  const std::lock_guard lock(refused_mutex);
  refused = std::move(answers);
}

}  // namespace emulated_gpu::cublaslt

using namespace emulated_gpu::cublaslt;
using emulated_gpu::current_gpu;
using emulated_gpu::ended;
using emulated_gpu::live;
using emulated_gpu::must_fail;

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return status_of([&] {
    require(handle, CUBLAS_STATUS_INVALID_VALUE);
    if (must_fail("cublasLtCreate")) throw std::bad_alloc();
    Handle* const made = live<Handle>().add(std::make_shared<Handle>(Handle{current_gpu()}));
    *handle = reinterpret_cast<cublasLtHandle_t>(made);
  });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return ended(status_of([&] {
    live_handle(handle);
    live<Handle>().remove(handle);
  }));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  return status_of([&] {
    require(layout && rows > 0 && columns > 0 && leading >= static_cast<int64_t>(rows), CUBLAS_STATUS_INVALID_VALUE);
    if (must_fail("cublasLtMatrixLayoutCreate")) throw std::bad_alloc();
    auto made = std::make_shared<Layout>();
    made->dtype = dtype_of(type);
    made->rows = static_cast<int64_t>(rows);
    made->columns = static_cast<int64_t>(columns);
    made->leading = leading;
    *layout = live<Layout>().add(std::move(made));
  });
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return ended(status_of([&] { live<Layout>().remove(described<Layout>(layout).get()); }));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return status_of([&] {
    require(operation, CUBLAS_STATUS_INVALID_VALUE);
    require(compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_STATUS_NOT_SUPPORTED);
    require(scale == CUDA_R_32F, CUBLAS_STATUS_NOT_SUPPORTED);
    if (must_fail("cublasLtMatmulDescCreate")) throw std::bad_alloc();
    auto made = std::make_shared<Operation>();
    made->compute = compute;
    *operation = live<Operation>().add(std::move(made));
  });
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return ended(status_of([&] { live<Operation>().remove(described<Operation>(operation).get()); }));
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t bytes) {
  static const std::vector<Attributes::Rule> rules = {
      {CUBLASLT_MATMUL_DESC_TRANSA, 4},         {CUBLASLT_MATMUL_DESC_TRANSB, 4},
      {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},       {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8},
      {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4},
  };
  return status_of([&] { described<Operation>(operation)->attributes.set(rules, name, value, bytes); });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return status_of([&] {
    require(preference, CUBLAS_STATUS_INVALID_VALUE);
    if (must_fail("cublasLtMatmulPreferenceCreate")) throw std::bad_alloc();
    *preference = live<Preference>().add(std::make_shared<Preference>());
  });
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return ended(status_of([&] { live<Preference>().remove(described<Preference>(preference).get()); }));
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void* value,
                                                    size_t bytes) {
  static const std::vector<Attributes::Rule> rules = {
      {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8},   {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4}, {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4}, {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4},
  };
  return status_of([&] { described<Preference>(preference)->attributes.set(rules, name, value, bytes); });
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  return status_of([&] {
    live_handle(handle);
    require(most > 0 && results && found, CUBLAS_STATUS_INVALID_VALUE);
    *found = 0;
    if (const auto answer = next_refused()) {
      require(answer->status == CUBLAS_STATUS_SUCCESS, answer->status);
      *found = std::min(answer->found, most);
      for (int i = 0; i < *found; ++i) results[i].state = answer->state;
      return;
    }
    const auto op = described<Operation>(operation);
    const auto wish = described<Preference>(preference);
    const Product p =
        product_of(*op, *described<Layout>(a), *described<Layout>(b), *described<Layout>(c), *described<Layout>(d));
    const std::vector<Algorithm> chosen = choose(
        p, *op, wish->attributes.get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0),
        wish->attributes.get<uint32_t>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_MASK),
        {wish->alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
         wish->alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
         wish->alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
         wish->alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)});
    *found = std::min(static_cast<int>(chosen.size()), most);
    for (int i = 0; i < *found; ++i) {
      const Algorithm& algorithm = chosen[static_cast<size_t>(i)];
      results[i] = {};
      std::memcpy(&results[i].algo, &algorithm, sizeof algorithm);
      results[i].workspaceSize = algorithm.workspace_bytes;
      results[i].state = CUBLAS_STATUS_SUCCESS;
      results[i].wavesCount = 1;
    }
  });
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name, void* value,
                                                    size_t bytes, size_t* written) {
  return status_of([&] {
    require(algo, CUBLAS_STATUS_INVALID_VALUE);
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof algorithm);
    int32_t number = 0;
    size_t number_bytes = sizeof number;
    switch (name) {
      case CUBLASLT_ALGO_CONFIG_ID: number = algorithm.id; break;
      case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: number = algorithm.splits; break;
      case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: number = algorithm.scheme; break;
      // Not set.
      case CUBLASLT_ALGO_CONFIG_TILE_ID:
      case CUBLASLT_ALGO_CONFIG_STAGES_ID:
      case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
      case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION: break;
      case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
      case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID: number_bytes = sizeof(uint16_t); break;
      default: throw Refusal{CUBLAS_STATUS_INVALID_VALUE};
    }
    require(bytes == 0 ? written != nullptr : value && bytes == number_bytes, CUBLAS_STATUS_INVALID_VALUE);
    if (bytes) std::memcpy(value, &number, number_bytes);
    if (written) *written = number_bytes;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  return status_of([&] {
    live_handle(handle);
    require(alpha && beta, CUBLAS_STATUS_INVALID_VALUE);
    const auto op = described<Operation>(operation);
    Call call{.product = product_of(*op, *described<Layout>(a_layout), *described<Layout>(b_layout),
                                    *described<Layout>(c_layout), *described<Layout>(d_layout)),
              .algorithm = {},
              .alpha = *static_cast<const float*>(alpha),
              .beta = *static_cast<const float*>(beta),
              .a = a,
              .b = b,
              .c = c,
              .d = d,
              .vector = op->vector(),
              .workspace = workspace};
    if (algo)
      std::memcpy(&call.algorithm, algo, sizeof call.algorithm);
    else
      call.algorithm = choose(call.product, *op, workspace_bytes, CUBLASLT_REDUCTION_SCHEME_MASK,
                              {alignment_of(a), alignment_of(b), alignment_of(c), alignment_of(d)})
                           .front();
    require(call.algorithm.fingerprint == call.product.fingerprint(), CUBLAS_STATUS_INVALID_VALUE);
    check_memory(call, workspace_bytes);
    require(emulated_gpu::enqueue(stream, {.run = [call] { compute(call); }}), CUBLAS_STATUS_EXECUTION_FAILED);
  });
}

}  // extern "C"
