// bf16 and f16 on any CPU: numbers are stored in 16 bits and computed in f32.
#pragma once

#include <optional>

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

inline bool is_low(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

// Whether the node reads or writes 16-bit numbers.
bool has_low_operand(const KernelRequest& request);

// Returns the node's kernel in bf16, which `select`, of the node's op, chooses. Returns nothing if
// an input is f16, or if oneDNN has for this CPU only its slow reference.
std::optional<KernelChoice> select_bf16(const CpuDevice& device, const KernelRequest& request, SelectKernel select);

// Returns the node's kernel in f32, which `select`, of the node's op, chooses: 16-bit inputs are
// widened before it and 16-bit outputs are rounded after it. Images keep the layouts that it wants.
KernelChoice select_widened(const CpuDevice& device, const KernelRequest& request, SelectKernel select);

// CpuDevice::select_reorder for 16-bit numbers in layouts that f32 also has.
KernelChoice select_low_reorder(const CpuDevice& device, const TensorType& type, const LayoutPtr& from,
                                const LayoutPtr& to);

// Widens [0, n) of 16-bit numbers on the calling thread alone.
void widen(DType from, const void* source, float* target, int64_t n);

// [0, n) from one type to the other (core/numbers.h).
void convert(DType from, const void* source, DType to, void* target, int64_t n);

}  // namespace troika::cpu
