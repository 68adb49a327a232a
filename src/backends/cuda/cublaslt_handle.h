// cuBLASLt's handle of a GPU, and the descriptions of matrices and products that it is asked about.
#pragma once

#include <cublasLt.h>

#include "backends/cuda/gpu_object.h"
#include "core/destroy.h"

namespace troika::cuda {

using CublasLtHandle = GpuObject<cublasLtHandle_t, cublasLtDestroy>;

// `what` begins the message.
inline CublasLtHandle create_cublaslt_handle(const ContextPtr& context, std::string_view what) {
  return create_on<CublasLtHandle>(context, what, cublasLtCreate);
}

// Descriptions are the host's alone and need no GPU.
template <typename Handle, auto kFunction>
using CublasLtDescription = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<kFunction>>;

using MatmulOperation = CublasLtDescription<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = CublasLtDescription<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using MatmulPreference = CublasLtDescription<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

}  // namespace troika::cuda
