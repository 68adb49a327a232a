// Addresses of processes: a host and a port, resolved.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

namespace troika {

// An address of the IPv4 or IPv6 family.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  bool is_loopback() const;
  std::string host() const;  // "127.0.0.1"
};

std::string to_string(const Address& address);  // "127.0.0.1:4000", "[::1]:4000"

// Resolves "host:port", such as "10.0.0.1:4000", "[::1]:4000" or "localhost:0". Messages begin with
// `what`. INVALID_ARGUMENT if the text has another form, COMM if the host is not known.
Address resolve(const std::string& host_and_port, const std::string& what);

// Returns the address of a network interface, such as "eth0", or of a host name or number, with
// port 0. IPv4 is preferred. INVALID_ARGUMENT if there is none.
Address local_address(const std::string& interface_or_host, const std::string& what);

}  // namespace troika
