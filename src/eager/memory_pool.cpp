// Blocks by size: a request takes the smallest kept block that holds it, unless that is much
// larger.
#include "eager/memory_pool.h"

namespace troika {
namespace {

constexpr size_t kGranularity = 256;

// Sizes in steps of an eighth, so that tensors of slightly different sizes share blocks.
size_t block_size(size_t bytes) {
  size_t step = kGranularity;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Buffer MemoryPool::allocate(size_t bytes, const std::string& purpose) {
  const size_t size = block_size(bytes);
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.lower_bound(size);
    if (found != kept_.end() && found->first <= size + size / 4) {
      block = {std::move(found->second), found->first};
      kept_bytes_ -= block.bytes;
      kept_.erase(found);
    }
  }
  if (!block.memory) {
    try {
      block = {device_->allocate(size, purpose), size};
    } catch (const Error& e) {
      if (e.status() != Status::out_of_memory || kept_bytes() == 0) throw;
      trim();
      block = {device_->allocate(size, purpose), size};
    }
  }
  std::byte* const address = block.memory.get();
  // The block travels in the deleter.
  auto held = std::make_shared<Block>(std::move(block));
  return Buffer(address, [pool = shared_from_this(), held](std::byte*) { pool->take_back(std::move(*held)); });
}

void MemoryPool::take_back(Block block) noexcept {
  if (!block.memory) return;
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + block.bytes > most_kept_) return;  // the block frees its memory
  try {
    kept_.emplace(block.bytes, std::move(block.memory));
    kept_bytes_ += block.bytes;
  } catch (const std::bad_alloc&) {  // then, too
  }
}

void MemoryPool::trim() {
  std::multimap<size_t, Buffer> freed;
  const std::lock_guard lock(mutex_);
  kept_bytes_ = 0;
  freed.swap(kept_);
}

size_t MemoryPool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

}  // namespace troika
