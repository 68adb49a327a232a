// Messages of CUDA, cuDNN and cuBLASLt.
#include "backends/cuda/library_check.h"

#include "core/text.h"

namespace troika::cuda {

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears it, so that the next call does not report it again
  throw Error(status == cudaErrorMemoryAllocation ? Status::out_of_memory : Status::internal,
              text(what, ": CUDA error ", static_cast<int>(status), " (", cudaGetErrorName(status),
                   "): ", cudaGetErrorString(status)));
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char last[512] = "";
  cudnnGetLastErrorString(last, sizeof last);
  for (char& c : last)
    if (c == '\n' || c == '\r') c = ' ';
  throw Error(status == CUDNN_STATUS_ALLOC_FAILED ? Status::out_of_memory : Status::internal,
              text(what, ": cuDNN: ", cudnnGetErrorString(status), *last ? ": " : "", last));
}

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? Status::out_of_memory : Status::internal,
              text(what, ": cuBLASLt: ", cublasLtGetStatusString(status)));
}

}  // namespace troika::cuda
