// Memory of one device for tensors that come and go: freed blocks are kept, and serve later tensors
// of about their size.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/backend.h"

namespace troika {

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // Keeps at most `most_kept` bytes.
  MemoryPool(std::shared_ptr<Device> device, size_t most_kept) : device_(std::move(device)), most_kept_(most_kept) {}

  // Returns memory of any content, whose deleter returns it to the pool. Memory may be reused
  // before launches that read it have ended: whoever writes it comes after them in the device's
  // order. Any thread.
  Buffer allocate(size_t bytes, const std::string& purpose);
  // Frees the blocks that no tensor uses.
  void trim();
  size_t kept_bytes() const;

 private:
  struct Block {
    Buffer memory = no_buffer();
    size_t bytes = 0;
  };

  void take_back(Block block) noexcept;

  const std::shared_ptr<Device> device_;
  const size_t most_kept_;
  mutable std::mutex mutex_;
  std::multimap<size_t, Buffer> kept_;  // by size
  size_t kept_bytes_ = 0;
};

}  // namespace troika
