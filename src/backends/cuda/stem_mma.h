// conv2d of an image of one channel, and its weights' gradient, on tensor cores, with sums in f32.
// Factors in f32 are rounded to TF32. Host functions that launch kernels on a stream; every output
// element is written, and equal inputs make equal bits.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/convolution.h"
#include "backends/cuda/fused_pool.h"
#include "core/dtype.h"

namespace troika::cuda {

// Whether these kernels take it: a stem (stem_conv2d.h) in bf16 or f16, or with up to 64 taps in
// f32.
bool takes_stem_mma(DType dtype, const Convolution& v);

// bias may be null; NaN stays through the ReLU. Unless `moments` is null, as with f32, each of the
// stem_mma_rows_of_sums() is written: {pixels, means [k], sums of squared differences from the
// means [k]} of a part of y, as rounded. All parts together are y. If y is pooled, which needs even
// sizes, its mask is written too, and there are no moments.
void stem_mma_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, const float* bias,
                     bool relu, void* y, float* moments, const Pooling& pooling, int multiprocessors,
                     cudaStream_t stream);
int stem_mma_rows_of_sums(const Convolution& v, int multiprocessors);

// dbias may be null. dy is that of the pooled y, if `pooling` is there.
void stem_mma_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, const Pooling& pooling,
                              float* dweights, float* dbias, void* scratch, int multiprocessors, cudaStream_t stream);
size_t stem_mma_weight_gradient_scratch_bytes(const Convolution& v, bool bias, int multiprocessors);

}  // namespace troika::cuda
