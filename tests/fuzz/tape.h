// A tape: bytes that decide which calls are made, and with which arguments.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace troika::fuzz {

// Ends the process, which the fuzzer reports together with the tape.
[[noreturn]] inline void report(const char* call, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", call, what.c_str());
  std::abort();
}

class Tape {
 public:
  Tape(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  // After the end, all bytes are 0.
  uint8_t byte() { return at_ < end_ ? *at_++ : 0; }
  uint16_t two_bytes() {
    const unsigned low = byte();
    return static_cast<uint16_t>(low | byte() << 8);
  }
  bool is_at_end() const { return at_ >= end_; }
  // Takes the first of the `parts` that the rest is cut into.
  Tape cut(size_t parts) {
    const size_t size = static_cast<size_t>(end_ - at_) / parts;
    const Tape part(at_, size);
    at_ += size;
    return part;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace troika::fuzz
