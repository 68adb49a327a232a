// The gradients of a linear layer of few outputs, such as the last one of a classifier: products of
// a few long rows, which kernels for square tiles serve badly. Host functions that launch kernels
// on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace troika::cuda {

// The matrices of the gradients: dy[rows, outputs] and x[rows, features].
struct FewOutputs {
  static constexpr int64_t kMost = 16;  // outputs that are few
  int64_t rows, outputs, features;
};

// dweights[outputs, features] = dy transposed times x, and dbias[outputs] = the sums of dy's
// columns, or null. Sums are f32, in an order that depends on the shape alone.
void few_outputs_weight_gradient(DType dtype, const FewOutputs& sizes, const void* dy, const void* x, float* dweights,
                                 float* dbias, void* scratch, cudaStream_t stream);
size_t few_outputs_scratch_bytes(DType dtype, const FewOutputs& sizes);

}  // namespace troika::cuda
