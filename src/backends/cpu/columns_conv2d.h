// The input gradient of a convolution as one matrix product, whose columns are added to the image
// ("col2im").
#pragma once

#include "backends/cpu/kernels.h"

namespace troika::cpu {

// For images in channels last and any window, without groups. A row of dy [k] times the weights
// [k][kh, kw, c] is what that pixel adds to its window: with few channels the product runs at twice
// the speed of oneDNN's direct kernels.
KernelChoice columns_conv2d_input_gradient(const KernelRequest& request);

}  // namespace troika::cpu
