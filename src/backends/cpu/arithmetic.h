// add of two operands of different shapes, which elementwise.cpp leaves to arithmetic.cpp.
#pragma once

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

KernelChoice select_broadcast_add(const KernelRequest& request);

}  // namespace troika::cpu
