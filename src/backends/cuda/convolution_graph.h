// Convolutions as cuDNN's graphs. The convolution must have reach_of() both axes.
#pragma once

#include "backends/cuda/convolution.h"
#include "backends/cuda/cudnn_plan.h"
#include "core/dtype.h"

namespace troika::cuda {

// Tensors: 1 x, 2 weights, 3 y, and, if `bias`, 4 the bias, f32.
DescribeGraph forward_graph(const Convolution& v, DType dtype, bool bias);

// Tensors: 1 weights, 2 dy, 3 dx, of which nothing beyond the windows' reach is written.
DescribeGraph input_gradient_graph(const Convolution& v, DType dtype);

// Tensors: 1 x, 2 dy, and `id` the weights' gradient of type `gradient`.
DescribeGraph weight_gradient_graph(const Convolution& v, DType dtype, DType gradient, int64_t id);

}  // namespace troika::cuda
