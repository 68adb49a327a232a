// Gradients of weights that cuDNN computes faster in 16 bits than in f32.
#pragma once

#include <vector>

#include "backends/cuda/cuda_device.h"
#include "device/kernel.h"

namespace troika::cuda {

// Whether that is the fastest way of this conv2d_weight_gradient. If the file of engines has no
// answer, the ways are measured, with `notes` for the log.
bool rounds_weight_gradient(CudaDevice& device, const Graph& graph, const Node& node, std::vector<LogLine>& notes);

}  // namespace troika::cuda
