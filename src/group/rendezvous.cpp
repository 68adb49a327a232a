// Addresses in texts and in files.
#include "group/rendezvous.h"

#include <unistd.h>

#include <fstream>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

constexpr std::string_view kFile = "file://";
constexpr const char* kRendezvous = "group: rendezvous";

}  // namespace

Rendezvous::Rendezvous(const std::string& place, const std::string& interface) : text_(place), interface_(interface) {
  if (text_.starts_with(kTcp)) {
    host_and_port_ = text_.substr(kTcp.size());
    resolve(host_and_port_, kRendezvous);
  } else if (text_.starts_with(kFile) && text_.size() > kFile.size() && text_[kFile.size()] == '/') {
    path_ = text_.substr(kFile.size());
  } else {
    throw Error(Status::invalid_argument, text(kRendezvous, " is '", printable_name(text_),
                                               "', need tcp://host:port, file:///folder/name or mpi://"));
  }
}

Socket Rendezvous::listen(bool has_secret) {
  Address address;
  if (!interface_.empty()) {
    address = local_address(interface_, "group: interface");
    if (path_.empty()) address.set_port(resolve(host_and_port_, kRendezvous).port());
  } else {
    address = resolve(path_.empty() ? host_and_port_ : "127.0.0.1:0", kRendezvous);
  }
  if (!has_secret && !address.is_loopback())
    throw Error(Status::invalid_argument,
                text("group: rank 0 listens at ", address.host(),
                     ", which other machines can reach, and there is no"
                     " secret; set one (TROIKA_SECRET_FILE or TROIKA_SECRET), the same for all processes"));
  if (path_.empty()) return Socket::listen(address, text("group: rank 0 at ", text_));
  forget();  // of an earlier run
  Socket socket = Socket::listen(address, text("group: rank 0 at ", address.host()));
  const std::string written = to_string(socket.own_address()) + "\n";
  write_file_atomically("rendezvous", path_, written);
  return socket;
}

Address Rendezvous::find() const {
  if (path_.empty()) return resolve(host_and_port_, kRendezvous);
  std::ifstream file(path_);
  std::string line;
  if (!std::getline(file, line))
    throw Error(Status::comm, text("there is no file '", printable(path_), "' with an address yet"));
  return resolve(line, kRendezvous);
}

void Rendezvous::forget() const {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace troika
