// The CUDA backend: the GPUs of this machine.
#pragma once

#include <memory>

#include "device/backend.h"

namespace troika::cuda {

// Returns null, with the reason, if the driver, a GPU or a library of the right version is missing.
std::unique_ptr<Backend> create_cuda_backend(const BackendSettings& settings, std::string& reason);

// Returns the versions of CUDA, cuDNN and cuBLASLt that are loaded, and of NCCL that this was built
// with.
std::string library_versions();

}  // namespace troika::cuda
