// System calls of sockets.
#include "group/socket.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <tuple>

#include "core/error.h"
#include "core/file_system.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int kBacklog = 1024;

[[noreturn]] void fail(const std::string& what, const char* call, int error) {
  throw Error(Status::comm, text(what, ": ", call, ": ", system_error_text(error)));
}

void set_option(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof value);
}

Socket open_socket(const Address& address, const std::string& what) {
  Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail(what, "socket", errno);
  return socket;
}

}  // namespace

Socket::~Socket() {
  if (is_open()) ::close(descriptor_);
}

Socket Socket::listen(const Address& address, const std::string& what) {
  Socket socket = open_socket(address, what);
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(socket.get(), address.get(), address.size) != 0) fail(what, "listening", errno);
  if (::listen(socket.get(), kBacklog) != 0) fail(what, "listening", errno);
  return socket;
}

Socket Socket::connect(const Address& address, const std::string& what) {
  Socket socket = open_socket(address, what);
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(socket.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)
    fail(what, "connecting", errno);
  return socket;
}

std::pair<Socket, Socket> Socket::pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) fail("group", "socketpair", errno);
  return {Socket(ends[0]), Socket(ends[1])};
}

Address Socket::own_address() const {
  Address address;
  address.size = sizeof address.storage;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

Address Socket::peer_address() const {
  Address address;
  address.size = sizeof address.storage;
  getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

int Socket::error() const {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Socket Socket::accept() const {
  Socket socket(accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

ptrdiff_t Socket::send(const void* data, size_t bytes) const {
  while (true) {
    const ssize_t sent = ::send(descriptor_, data, bytes, MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return -1;
    if (errno != EINTR) return -2;
  }
}

ptrdiff_t Socket::receive(void* data, size_t bytes) const {
  while (true) {
    const ssize_t received = ::recv(descriptor_, data, bytes, 0);
    if (received >= 0) return received;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return -1;
    if (errno != EINTR) return -2;
  }
}

Waker::Waker() { std::tie(reader_, writer_) = Socket::pair(); }

void Waker::wake() const { writer_.send("", 1); }

void Waker::clear() const {
  char bytes[64];
  while (reader_.receive(bytes, sizeof bytes) > 0) {
  }
}

}  // namespace troika
