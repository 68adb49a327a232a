// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace troika::cli {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  void close() {
    if (is_open()) ::close(std::exchange(file_, -1));
  }

 private:
  int file_ = -1;
};

}  // namespace troika::cli
