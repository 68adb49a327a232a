// Results on their way from a device's memory to the host's, so that the host launches the next
// step before it reads them.
#pragma once

#include <cstddef>
#include <vector>

namespace troika {

// Used from the device's worker thread. After is_there, any thread may call data().
class Readback {
 public:
  virtual ~Readback() = default;
  // Begins to copy `bytes`, at most the capacity, after the launches so far and before those that
  // follow.
  virtual void post(const void* source, size_t bytes) = 0;
  // Whether the last post and all launches before it have ended. Throws if one of them failed. Does
  // not wait.
  virtual bool is_there() = 0;
  virtual const std::byte* data() const = 0;
};

// For a device whose memory the host reads, and whose launches end before they return.
class HostReadback final : public Readback {
 public:
  explicit HostReadback(size_t capacity) : data_(capacity) {}
  void post(const void* source, size_t bytes) override;
  bool is_there() override { return true; }
  const std::byte* data() const override { return data_.data(); }

 private:
  std::vector<std::byte> data_;
};

}  // namespace troika
