// Memory by VirtualAlloc.
#include "core/system_memory.h"

#include <windows.h>

namespace troika {
namespace {

MEMORYSTATUSEX memory_status() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  GlobalMemoryStatusEx(&status);
  return status;
}

}  // namespace

int64_t total_memory() { return static_cast<int64_t>(memory_status().ullTotalPhys); }

int64_t available_memory() { return static_cast<int64_t>(memory_status().ullAvailPhys); }

void* map_memory(size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }

void unmap_memory(void* block, size_t) { VirtualFree(block, 0, MEM_RELEASE); }

}  // namespace troika
