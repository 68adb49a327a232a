// Which convolutions Winograd's algorithm takes, and their kernels.
#pragma once

#include "backends/cpu/kernels.h"

namespace troika::cpu {

// Returns the channels in a block of the images, 8 or 16, if Winograd's algorithm is to replace
// oneDNN's `primitive` in the convolution [x, weight] -> y; else 0.
int64_t winograd_block(const Node& node, const Shape& x, const Shape& weight, const Shape& y,
                       const dnnl::primitive_desc& primitive);

KernelChoice winograd_conv2d(const KernelRequest& request, int64_t block);
KernelChoice winograd_conv2d_input_gradient(const KernelRequest& request, int64_t block);
KernelChoice winograd_conv2d_weight_gradient(const KernelRequest& request, int64_t block);

}  // namespace troika::cpu
