// The CPU backend: logical devices that share the cores of this process.
#pragma once

#include "device/backend.h"

namespace troika::cpu {

std::unique_ptr<Backend> create_cpu_backend();

}  // namespace troika::cpu
