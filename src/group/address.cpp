// Resolving and printing addresses.
#include "group/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <charconv>
#include <cstring>
#include <memory>

#include "core/destroy.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

using Found = std::unique_ptr<addrinfo, Destroy<freeaddrinfo>>;

// Returns null, with the reason, if the host is not known.
Found find_host(const std::string& host, std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == 0) return Found(found);
  reason = gai_strerror(error);
  return nullptr;
}

Address first_of(const addrinfo& list) {
  const addrinfo* best = &list;
  for (const addrinfo* entry = &list; entry; entry = entry->ai_next)
    if (entry->ai_family == AF_INET) {
      best = entry;
      break;
    }
  Address address;
  std::memcpy(&address.storage, best->ai_addr, best->ai_addrlen);
  address.size = best->ai_addrlen;
  return address;
}

}  // namespace

uint16_t Address::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

void Address::set_port(uint16_t port) {
  if (family() == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
}

bool Address::is_loopback() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
  constexpr uint32_t kLoopbackNet = 127;
  return family() == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr) >> 24 == kLoopbackNet;
}

std::string Address::host() const {
  char host[INET6_ADDRSTRLEN] = "?";
  if (family() == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr, host, sizeof host);
  else if (family() == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, host, sizeof host);
  return host;
}

std::string to_string(const Address& address) {
  if (address.family() == AF_UNIX) return "this process";
  const std::string host = address.host();
  return address.family() == AF_INET6 ? text('[', host, "]:", address.port()) : text(host, ':', address.port());
}

Address resolve(const std::string& host_and_port, const std::string& what) {
  const size_t colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  const char* const begin = host_and_port.data() + (colon == std::string::npos ? host_and_port.size() : colon + 1);
  const char* const end = host_and_port.data() + host_and_port.size();
  uint16_t port = 0;
  const auto [stop, failure] = std::from_chars(begin, end, port);
  if (colon == std::string::npos || host.empty() || begin == end || failure != std::errc() || stop != end)
    throw Error(Status::invalid_argument,
                text(what, ": '", printable(host_and_port), "' is no host:port with a port from 0 to 65535"));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::string reason;
  const Found found = find_host(host, reason);
  if (!found) throw Error(Status::comm, text(what, ": host '", printable(host), "' is not known: ", reason));
  Address address = first_of(*found);
  address.set_port(port);
  return address;
}

Address local_address(const std::string& interface_or_host, const std::string& what) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, Destroy<freeifaddrs>> entries(list);
    for (const int family : {AF_INET, AF_INET6})
      for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != family || interface_or_host != entry->ifa_name) continue;
        Address address;
        address.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&address.storage, entry->ifa_addr, address.size);
        return address;
      }
  }
  std::string reason;
  if (const Found found = find_host(interface_or_host, reason)) return first_of(*found);
  throw Error(Status::invalid_argument, text(what, ": '", printable(interface_or_host),
                                             "' is no network interface of this machine, and no host: ", reason));
}

}  // namespace troika
