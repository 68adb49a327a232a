// bf16 and f16 on any CPU: numbers are stored in 16 bits and computed in f32.
#pragma once

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

// Whether the node reads or makes 16-bit numbers.
bool is_low_precision(const KernelRequest& request);

// The kernel of the same node in f32, between a widening of its 16-bit inputs and a rounding of its 16-bit outputs.
KernelChoice select_widened(CpuDevice& device, const KernelRequest& request);

// [0, n) from one type to the other; either may be f32.
void convert(DType from, const void* source, DType to, void* target, int64_t n);

}  // namespace troika::cpu
