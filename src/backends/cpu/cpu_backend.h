// The CPU backend: logical devices that share the cores of this process.
#pragma once

#include "device/backend.h"

namespace troika::cpu {

std::unique_ptr<Backend> create_cpu_backend();

// Returns oneDNN's version, and the vectors that it uses on this machine.
std::string library_versions();

}  // namespace troika::cpu
