// bf16 and f16 on any CPU: numbers are stored in 16 bits and computed in f32.
#pragma once

#include <optional>

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

inline bool is_low(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

// Whether the node reads or makes 16-bit numbers, and its kernel does not by itself, as those of casts, BatchNorm and
// the gradient of ReLU do.
bool is_low_precision(const KernelRequest& request);

// What `select`, that of the node's op, gives in bf16: a kernel of oneDNN's own for convolutions and linear layers, where it has one
// for this CPU (AVX-512) that is not its slow reference.
std::optional<KernelChoice> select_bf16(CpuDevice& device, const KernelRequest& request, SelectKernel select);

// The kernel of the same node in f32, between a widening of its 16-bit inputs and a rounding of its 16-bit outputs. Images stay in
// the layouts that it wants.
KernelChoice select_widened(CpuDevice& device, const KernelRequest& request);

// CpuDevice::select_reorder for 16-bit numbers in layouts that f32 has, too.
KernelChoice select_low_reorder(CpuDevice& device, const TensorType& type, const LayoutPtr& from, const LayoutPtr& to);

// [0, n) from one type to the other; either may be f32.
void convert(DType from, const void* source, DType to, void* target, int64_t n);

}  // namespace troika::cpu
