// Copies by way of pinned memory.
#include "backends/cuda/staging.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "backends/cuda/check.h"
#include "core/deadline.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

// Longer than steps take: whoever waits for a step's worker gives up before. But not for ever.
constexpr std::chrono::seconds kLongestWait{3600};

}  // namespace

Staging::Staging(const ContextPtr& context, cudaStream_t stream, std::string device)
    : stream_(stream), device_(std::move(device)) {
  for (Ring* ring : {&large_, &small_})
    for (Piece& piece : ring->pieces) {
      piece.memory = allocate_pinned(context, ring->piece_bytes, "staging memory");
      piece.free = create_event(context, "a CUDA event");
    }
}

Staging::Piece& Staging::next_piece(Ring& ring) {
  Piece& piece = ring.pieces[ring.next++ % ring.pieces.size()];
  wait_for(piece);  // returns at once if it was never recorded
  return piece;
}

// cudaEventSynchronize would wait for a GPU that hangs, or for ranks that are lost, without end.
void Staging::wait_for(const Piece& piece) const {
  constexpr int kSpins = 2000;  // a copy takes from microseconds to the rest of a step: look often first, then sleep
  const Deadline deadline = Deadline::clock::now() + kLongestWait;
  for (int looks = 0;; ++looks) {
    const cudaError_t status = cudaEventQuery(piece.free.get());
    if (status != cudaErrorNotReady) return check_launch(status);
    cudaGetLastError();  // which keeps it otherwise, for the next launch to report
    if (Deadline::clock::now() >= deadline)
      throw Error(Status::comm, text(device_, ": a copy did not end within ", kLongestWait.count(), " s"));
    if (looks < kSpins)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Staging::finish() {
  std::lock_guard lock(mutex_);
  for (const Ring* ring : {&large_, &small_})
    for (const Piece& piece : ring->pieces) wait_for(piece);
}

void Staging::to_device(void* destination, const void* source, size_t bytes) {
  std::lock_guard lock(mutex_);
  Ring& ring = ring_for(bytes);
  for (size_t done = 0; done < bytes; done += ring.piece_bytes) {
    const size_t n = std::min(ring.piece_bytes, bytes - done);
    Piece& piece = next_piece(ring);
    std::memcpy(piece.memory.get(), static_cast<const std::byte*>(source) + done, n);
    check_launch(cudaMemcpyAsync(static_cast<std::byte*>(destination) + done, piece.memory.get(), n,
                                 cudaMemcpyHostToDevice, stream_));
    check_launch(cudaEventRecord(piece.free.get(), stream_));
  }
}

void Staging::to_host(void* destination, const void* source, size_t bytes) {
  std::lock_guard lock(mutex_);
  Ring& ring = ring_for(bytes);
  for (size_t done = 0; done < bytes; done += ring.piece_bytes) {
    const size_t n = std::min(ring.piece_bytes, bytes - done);
    Piece& piece = next_piece(ring);
    check_launch(cudaMemcpyAsync(piece.memory.get(), static_cast<const std::byte*>(source) + done, n,
                                 cudaMemcpyDeviceToHost, stream_));
    check_launch(cudaEventRecord(piece.free.get(), stream_));
    wait_for(piece);
    std::memcpy(static_cast<std::byte*>(destination) + done, piece.memory.get(), n);
  }
}

}  // namespace troika::cuda
