// Numbers and texts packed into one string of bytes, for messages between processes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.h"

namespace troika {

static_assert(std::endian::native == std::endian::little, "packed numbers are little-endian");

class Packer {
 public:
  Packer& number(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& real(double value) { return number(std::bit_cast<int64_t>(value)); }
  Packer& text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The bytes are not what they should be.
struct Malformed : Error {
  Malformed() : Error(Status::comm, "a process has sent a message without meaning") {}
};

// Takes numbers and texts in the order in which they were packed. The bytes must outlive it. Each
// call throws Malformed if the bytes have no such item.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  int64_t number() {
    int64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() {
    const int64_t size = number();
    if (size < 0) throw Malformed();
    return std::string(take(static_cast<size_t>(size)));
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view take(size_t bytes) {
    if (rest_.size() < bytes) throw Malformed();
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace troika
