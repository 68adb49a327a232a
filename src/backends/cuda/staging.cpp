// Copies by way of pinned memory.
#include "backends/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/check.h"

namespace troika::cuda {

Staging::Staging(cudaStream_t stream) : stream_(stream) {
  try {
    for (Piece& piece : pieces_) {
      check(cudaHostAlloc(reinterpret_cast<void**>(&piece.memory), kPieceBytes, cudaHostAllocDefault), "staging memory");
      check(cudaEventCreateWithFlags(&piece.free, cudaEventDisableTiming), "a CUDA event");
    }
  } catch (...) {
    release();
    throw;
  }
}

Staging::~Staging() { release(); }

void Staging::release() {
  for (Piece& piece : pieces_) {
    if (piece.free) cudaEventDestroy(piece.free);
    if (piece.memory) cudaFreeHost(piece.memory);
  }
}

Staging::Piece& Staging::next_piece() {
  Piece& piece = pieces_[next_++ % pieces_.size()];
  check_launch(cudaEventSynchronize(piece.free));  // at once where it was never recorded
  return piece;
}

void Staging::to_device(void* destination, const void* source, size_t bytes) {
  std::lock_guard lock(mutex_);
  for (size_t done = 0; done < bytes; done += kPieceBytes) {
    const size_t n = std::min(kPieceBytes, bytes - done);
    Piece& piece = next_piece();
    std::memcpy(piece.memory, static_cast<const std::byte*>(source) + done, n);
    check_launch(cudaMemcpyAsync(static_cast<std::byte*>(destination) + done, piece.memory, n, cudaMemcpyHostToDevice,
                                 stream_));
    check_launch(cudaEventRecord(piece.free, stream_));
  }
}

void Staging::to_host(void* destination, const void* source, size_t bytes) {
  std::lock_guard lock(mutex_);
  for (size_t done = 0; done < bytes; done += kPieceBytes) {
    const size_t n = std::min(kPieceBytes, bytes - done);
    Piece& piece = next_piece();
    check_launch(cudaMemcpyAsync(piece.memory, static_cast<const std::byte*>(source) + done, n, cudaMemcpyDeviceToHost,
                                 stream_));
    check_launch(cudaEventRecord(piece.free, stream_));
    check_launch(cudaEventSynchronize(piece.free));
    std::memcpy(static_cast<std::byte*>(destination) + done, piece.memory, n);
  }
}

}  // namespace troika::cuda
