// Pinned memory through which copies between host and GPU go, so that the host's own memory may change at once.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <string>

namespace troika::cuda {

// From any thread, one copy at a time. COMM where one has not ended in an hour: the work in front of it never will.
class Staging {
 public:
  // `device` begins messages: "device cuda:0".
  Staging(cudaStream_t stream, std::string device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void to_device(void* destination, const void* source, size_t bytes);
  void to_host(void* destination, const void* source, size_t bytes);

 private:
  // Two pieces, so that one is filled while the other travels.
  static constexpr size_t kPieceBytes = 4 << 20;
  struct Piece {
    std::byte* memory = nullptr;
    cudaEvent_t free = nullptr;  // has happened when the piece's last copy has ended
  };
  Piece& next_piece();
  void wait_for(const Piece& piece) const;
  void release();

  std::mutex mutex_;
  const cudaStream_t stream_;
  const std::string device_;
  std::array<Piece, 2> pieces_{};
  size_t next_ = 0;
};

}  // namespace troika::cuda
