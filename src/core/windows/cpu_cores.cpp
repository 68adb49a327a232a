// Cores by GetProcessAffinityMask. A process sees one group of at most 64 cores.
#include "core/cpu_cores.h"

#include <windows.h>

#include <cstdint>

namespace troika {
namespace {

constexpr int kMostCores = 8 * sizeof(DWORD_PTR);

}  // namespace

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  DWORD_PTR process = 0, system = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system))
    for (int core = 0; core < kMostCores; ++core)
      if (process >> core & 1) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

void pin_thread(const std::vector<int>& cores) {
  DWORD_PTR mask = 0;
  for (int core : cores)
    if (core < kMostCores) mask |= DWORD_PTR{1} << core;
  if (mask != 0) SetThreadAffinityMask(GetCurrentThread(), mask);
}

}  // namespace troika
