// add of two operands of different shapes, which elementwise.cu leaves to arithmetic.cu.
#pragma once

#include "backends/cuda/cuda_device.h"

namespace troika::cuda {

KernelChoice select_broadcast_add(CudaDevice& device, const KernelRequest& request);

}  // namespace troika::cuda
