// The CUDA backend: the GPUs of this machine.
#pragma once

#include <memory>

#include "device/backend.h"

namespace troika::cuda {

// Returns null, with the reason, if the driver, a GPU or a library of the right version is missing.
std::unique_ptr<Backend> create_cuda_backend(std::string& reason);

}  // namespace troika::cuda
