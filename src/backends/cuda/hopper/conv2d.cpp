// The choice among the kernels for convolutions.
#include "backends/cuda/hopper/conv2d_kernels.h"

namespace troika::cuda::hopper {

namespace {

// Whether it is square, keeps size and number of channels, and is 3x3 with the plainest settings.
bool is_plain(const Convolution& v) {
  for (int axis = 0; axis < 2; ++axis)
    if (v.kernel[axis] != 3 || v.stride[axis] != 1 || v.padding[axis] != 1 || v.dilation[axis] != 1 ||
        v.y_size[axis] != v.x_size[axis])
      return false;
  return v.groups == 1 && v.k == v.c && v.x_size[0] == v.x_size[1];
}

bool takes_3x3(DType dtype, const Convolution& v) {
  return dtype == DType::bf16 && is_plain(v) && (takes_conv2d_64(v) || takes_conv2d_wide(v));
}

bool is_1x1(const Convolution& v) { return v.taps() == 1; }

}  // namespace

bool takes_conv2d(DType dtype, const Convolution& v) {
  return takes_3x3(dtype, v) || (dtype == DType::bf16 && (takes_conv2d_1x1(v) || takes_conv2d_64_halving(v)));
}

bool takes_input_gradient(DType dtype, const Convolution& v) {
  return takes_3x3(dtype, v) ||
         (dtype == DType::bf16 && (takes_conv2d_1x1_input_gradient(v) || takes_conv2d_64_halving(v)));
}

bool takes_weight_gradient(DType dtype, const Convolution& v) {
  return takes_3x3(dtype, v) || (dtype == DType::bf16 && takes_conv2d_1x1_weight_gradient(v));
}

bool normalizes_input(const Convolution& v) { return is_plain(v) && takes_conv2d_64(v); }

void conv2d(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* weights, void* y,
            float* moments, int multiprocessors, cudaStream_t stream) {
  if (is_plain(v) && takes_conv2d_64(v)) return conv2d_64(v, x, norm, weights, y, moments, multiprocessors, stream);
  const auto run = is_1x1(v) ? conv2d_1x1 : v.stride[0] > 1 ? conv2d_64_halving : conv2d_wide;
  run(v, x, weights, y, moments, multiprocessors, stream);
}

int rows_of_sums(const Convolution& v, int multiprocessors) {
  const auto rows = is_1x1(v)            ? rows_of_sums_1x1
                    : v.stride[0] > 1    ? rows_of_sums_64_halving
                    : takes_conv2d_64(v) ? rows_of_sums_64
                                         : rows_of_sums_wide;
  return rows(v, multiprocessors);
}

void conv2d_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                           const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream) {
  const auto run = is_1x1(v)            ? conv2d_1x1_input_gradient
                   : v.stride[0] > 1    ? conv2d_64_halving_gradient
                   : takes_conv2d_64(v) ? conv2d_64_input_gradient
                                        : conv2d_wide_input_gradient;
  run(v, weights, dy, dx, relu, sums, multiprocessors, stream);
}

int rows_of_gradient_sums(const Convolution& v, int multiprocessors) {
  const auto rows = is_1x1(v)         ? rows_of_gradient_sums_1x1
                    : v.stride[0] > 1 ? rows_of_gradient_sums_64_halving
                                      : rows_of_sums;
  return rows(v, multiprocessors);
}

bool takes_gaps(const Convolution& v, int64_t addend_stride) {
  return addend_stride == 2 && (is_1x1(v) ? takes_gaps_1x1(v) : takes_conv2d_64_halving(v));
}

void conv2d_weight_gradient(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* dy,
                            float* dweights, void* scratch, unsigned* turns, int multiprocessors, cudaStream_t stream) {
  if (!is_1x1(v) && takes_conv2d_64(v))
    return conv2d_64_weight_gradient(v, x, norm, dy, dweights, scratch, turns, multiprocessors, stream);
  const auto run = is_1x1(v) ? conv2d_1x1_weight_gradient : conv2d_wide_weight_gradient;
  run(v, x, dy, dweights, scratch, turns, multiprocessors, stream);
}

size_t conv2d_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors) {
  const auto bytes = is_1x1(v)            ? conv2d_1x1_weight_gradient_scratch_bytes
                     : takes_conv2d_64(v) ? conv2d_64_weight_gradient_scratch_bytes
                                          : conv2d_wide_weight_gradient_scratch_bytes;
  return bytes(v, multiprocessors);
}

}  // namespace troika::cuda::hopper
