// Memory by mmap.
#include "core/system_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace troika {

int64_t total_memory() { return static_cast<int64_t>(sysconf(_SC_PAGESIZE)) * sysconf(_SC_PHYS_PAGES); }

int64_t available_memory() {
  std::ifstream memory("/proc/meminfo");
  for (std::string line; std::getline(memory, line);)
    if (line.rfind("MemAvailable:", 0) == 0) return std::atoll(line.c_str() + 13) * 1024;
  return static_cast<int64_t>(sysconf(_SC_PAGESIZE)) * sysconf(_SC_AVPHYS_PAGES);
}

void* map_memory(size_t bytes) {
  void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : block;
}

void unmap_memory(void* block, size_t bytes) { munmap(block, bytes); }

}  // namespace troika
