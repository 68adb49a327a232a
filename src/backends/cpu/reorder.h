// Reorders by oneDNN: numbers of one type, from one layout to another.
#pragma once

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

// Between plain tensors and layouts that oneDNN names.
KernelChoice onednn_reorder(const CpuDevice& device, const TensorType& type, const LayoutPtr& from,
                            const LayoutPtr& to);

}  // namespace troika::cpu
