// One range of addresses per GPU, most of it never mapped.
#include "memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "creations.h"

namespace emulated_gpu {
namespace {

// The bytes of addresses per GPU. Addresses are never reused, so the range must be large.
constexpr size_t kRange = size_t{1} << 38;
constexpr size_t kPage = 4096, kAlignment = 256;
constexpr int kPoison = 0xff;

struct Block {
  size_t bytes, pages;  // pages: the mapped bytes, without the inaccessible page after them
  std::byte* base;
};

struct Range {
  std::byte* begin = nullptr;
  size_t next = 0, used = 0;
  bool is_open = false;
  std::map<std::byte*, Block> blocks;  // by the address that allocate() returned
};

struct Memory {
  std::mutex mutex;
  std::vector<Range> gpus;

  Memory() : gpus(static_cast<size_t>(gpu_count())) {
    for (Range& gpu : gpus) {
      void* const range = mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (range == MAP_FAILED) std::abort();
      gpu.begin = static_cast<std::byte*>(range);
    }
  }
  static Memory& get() {
    static Memory& memory = *new Memory;  // never destroyed
    return memory;
  }
};

const LiveKind blocks_kind("blocks of memory", [] {
  Memory& memory = Memory::get();
  std::lock_guard lock(memory.mutex);
  size_t blocks = 0;
  for (const Range& gpu : memory.gpus) blocks += gpu.blocks.size();
  return blocks;
});

size_t number_from(const char* variable, size_t otherwise) {
  const char* const value = std::getenv(variable);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

}  // namespace

int gpu_count() {
  static const auto count = static_cast<int>(number_from("EMULATED_GPUS", 4));
  return count;
}

size_t gpu_bytes() {
  static const size_t bytes = number_from("EMULATED_GPU_BYTES", size_t{8} << 30);
  return bytes;
}

void* allocate(int gpu, size_t bytes) {
  Memory& memory = Memory::get();
  std::lock_guard lock(memory.mutex);
  Range& range = memory.gpus[static_cast<size_t>(gpu)];
  if (bytes > gpu_bytes() - range.used) return nullptr;
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t pages = (rounded + kPage - 1) / kPage * kPage;
  if (range.next + pages + kPage > kRange) return nullptr;
  std::byte* const base = range.begin + range.next;
  range.next += pages + kPage;
  // The block ends at the inaccessible page, except for the bytes that alignment adds.
  std::byte* const memory_begin = base + (pages - rounded);
  mprotect(base, pages, PROT_READ | PROT_WRITE);
  std::memset(base, kPoison, pages);
  if (!range.is_open) mprotect(base, pages, PROT_NONE);
  range.blocks[memory_begin] = {bytes, pages, base};
  range.used += bytes;
  return memory_begin;
}

bool release(void* address) {
  Memory& memory = Memory::get();
  std::lock_guard lock(memory.mutex);
  for (Range& gpu : memory.gpus) {
    const auto found = gpu.blocks.find(static_cast<std::byte*>(address));
    if (found == gpu.blocks.end()) continue;
    madvise(found->second.base, found->second.pages, MADV_DONTNEED);
    mprotect(found->second.base, found->second.pages, PROT_NONE);
    gpu.used -= found->second.bytes;
    gpu.blocks.erase(found);
    return true;
  }
  return false;
}

size_t free_bytes(int gpu) {
  Memory& memory = Memory::get();
  std::lock_guard lock(memory.mutex);
  return gpu_bytes() - memory.gpus[static_cast<size_t>(gpu)].used;
}

int gpu_of(const void* address) {
  Memory& memory = Memory::get();
  for (size_t gpu = 0; gpu < memory.gpus.size(); ++gpu) {
    const auto* const begin = memory.gpus[gpu].begin;
    if (address >= begin && address < begin + kRange) return static_cast<int>(gpu);
  }
  return -1;
}

Access::Access(int gpu, bool all) : first_(all ? 0 : gpu), last_(all ? gpu_count() : gpu + 1) {
  set(PROT_READ | PROT_WRITE);
}

Access::~Access() { set(PROT_NONE); }

void Access::set(int protection) const {
  Memory& memory = Memory::get();
  std::lock_guard lock(memory.mutex);
  for (int gpu = first_; gpu < last_; ++gpu) {
    Range& range = memory.gpus[static_cast<size_t>(gpu)];
    range.is_open = protection != PROT_NONE;
    for (const auto& [address, block] : range.blocks) mprotect(block.base, block.pages, protection);
  }
}

}  // namespace emulated_gpu
