// For tests: sets the answers of cuBLASLt to requests for a kernel.
#pragma once

#include <cublasLt.h>

#include <vector>

namespace emulated_gpu::cublaslt {

// An answer without a kernel.
struct Refused {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;  // the status of the call
  int found = 0;                                  // the number of kernels, each in `state`
  cublasStatus_t state = CUBLAS_STATUS_SUCCESS;
};

// The next calls of cublasLtMatmulAlgoGetHeuristic return these answers, one each.
void refuse_next(std::vector<Refused> answers);

}  // namespace emulated_gpu::cublaslt
