// The parts of a kernel's scratch: reserved at plan time, and found at step time by their offsets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika {

// Reserves parts one after another, each at a multiple of `alignment` bytes.
class ScratchLedger {
 public:
  explicit ScratchLedger(size_t alignment) : alignment_(alignment) {}

  // Returns the offset of a new part.
  size_t take(size_t bytes) {
    const size_t offset = bytes_;
    bytes_ += (bytes + alignment_ - 1) / alignment_ * alignment_;
    return offset;
  }
  size_t take_floats(int64_t floats) { return take(static_cast<size_t>(floats) * sizeof(float)); }

  size_t bytes() const { return bytes_; }  // of all parts

 private:
  size_t alignment_, bytes_ = 0;
};

}  // namespace troika
