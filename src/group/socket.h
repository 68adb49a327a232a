// Sockets that never block.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "group/address.h"

namespace troika {

// An open socket, which is not inherited by programs that this process starts. -1: none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  // Listens at the address. Port 0: a free one. COMM with `what` and the reason.
  static Socket listen(const Address& address, const std::string& what);
  // Begins to connect. Writable: connected, or failed with `error()`. COMM with `what`.
  static Socket connect(const Address& address, const std::string& what);
  // Returns two ends that are connected.
  static std::pair<Socket, Socket> pair();

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  Address own_address() const;
  Address peer_address() const;
  int error() const;  // takes the pending errno of the socket; 0: none

  // Returns a socket without descriptor if no connection waits.
  Socket accept() const;
  // Return the number of bytes; 0 at the end of the stream, -1 if it would block, -2 on an error,
  // with errno.
  ptrdiff_t send(const void* data, size_t bytes) const;
  ptrdiff_t receive(void* data, size_t bytes) const;

 private:
  int descriptor_ = -1;
};

// Wakes a thread that waits in poll.
class Waker {
 public:
  Waker();
  void wake() const;   // any thread
  void clear() const;  // the thread that waits
  int get() const { return reader_.get(); }

 private:
  Socket reader_, writer_;
};

}  // namespace troika
