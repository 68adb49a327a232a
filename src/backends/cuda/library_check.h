// The checks of cuDNN and cuBLASLt, as check.h has CUDA's.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include "backends/cuda/check.h"

namespace troika::cuda {

void check(cudnnStatus_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

}  // namespace troika::cuda
