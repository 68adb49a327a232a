// Pinned memory through which copies between host and GPU go, so that the host's own memory may
// change at once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/event.h"
#include "backends/cuda/pinned_memory.h"

namespace troika::cuda {

// May be called from any thread, one copy at a time. COMM if a copy has not ended in an hour: the
// work before it never will.
class Staging {
 public:
  // `device` begins messages: "device cuda:0".
  Staging(const ContextPtr& context, cudaStream_t stream, std::string device);

  void to_device(void* destination, const void* source, size_t bytes);
  void to_host(void* destination, const void* source, size_t bytes);
  // Waits for the copies so far.
  void finish();

 private:
  struct Piece {
    PinnedMemory memory;
    Event free;  // has happened when the piece's last copy has ended
  };
  // Pieces in turn: two large ones, so that one is filled while the other travels, and small ones
  // for numbers. A step that is launched after a running step still finds a free small one.
  struct Ring {
    size_t piece_bytes;
    std::vector<Piece> pieces;
    size_t next = 0;
  };
  Ring& ring_for(size_t bytes) { return bytes <= small_.piece_bytes ? small_ : large_; }
  Piece& next_piece(Ring& ring);
  void wait_for(const Piece& piece) const;

  std::mutex mutex_;
  const cudaStream_t stream_;
  const std::string device_;
  Ring large_{4 << 20, std::vector<Piece>(2)}, small_{16 << 10, std::vector<Piece>(8)};
};

}  // namespace troika::cuda
