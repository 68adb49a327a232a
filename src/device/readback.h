// Results on their way from a device's memory to the host's, so that the host launches the next step before it reads them.
#pragma once

#include <cstddef>
#include <vector>

namespace troika {

// Used from the device's worker thread; data() from any, once is_there.
class Readback {
 public:
  virtual ~Readback() = default;
  // Begins copying `bytes`, at most the capacity, behind the launches so far and before those that follow.
  virtual void post(const void* source, size_t bytes) = 0;
  // Whether the last post and all launches before it have ended; throws what went wrong in one. Does not wait.
  virtual bool is_there() = 0;
  virtual const std::byte* data() const = 0;
};

// Of a device whose memory the host reads and whose launches end before they return.
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
