// conv2d and its gradients in bf16 as matrix products with the windows of an image ("im2col"). Each
// pixel of the other image has a row, with the numbers of the pixel's window.
#pragma once

#include "backends/cpu/kernels.h"

namespace troika::cpu {

// Whether the product is faster than oneDNN's kernel for the node: with AMX, for small images, and
// for a network's own images of few channels. oneDNN 2.6 and 3.2 have a fifth of AMX's speed there.
// docs/performance.md has times.
bool takes_windows(const KernelRequest& request, bool has_amx);

// y [pixels, k] = windows of x [pixels][kh, kw, c], times the weights.
KernelChoice windows_conv2d(const CpuDevice& device, const KernelRequest& request);
// dx [pixels, c] = windows of dy [pixels][kh, kw, k], times the weights. With a stride, pixels of
// dx that have the same remainder read the same taps, and are a product of their own.
KernelChoice windows_conv2d_input_gradient(const CpuDevice& device, const KernelRequest& request);
// dw [k][kh, kw, c] = dy [pixels, k], transposed, times the windows of x. dw and dbias [k] are f32.
KernelChoice windows_conv2d_weight_gradient(const CpuDevice& device, const KernelRequest& request);

}  // namespace troika::cpu
