// The place at which the processes of a group find each other.
#pragma once

#include <string>
#include <string_view>

#include "group/address.h"
#include "group/socket.h"

namespace troika {

constexpr std::string_view kTcp = "tcp://";  // begins an address

// "tcp://host:port": the address of rank 0. "file:///folder/name": a file in a folder that all
// processes see, into which rank 0 writes its address.
class Rendezvous {
 public:
  // INVALID_ARGUMENT if the place has neither form.
  Rendezvous(const std::string& place, const std::string& interface);

  // Listens as rank 0, and makes the address known. The address must be loopback unless there is a
  // secret.
  Socket listen(bool has_secret);
  // Returns rank 0's address. COMM as long as it is not known.
  Address find() const;
  // Called when all have joined.
  void forget() const;
  const std::string& name() const { return text_; }

 private:
  const std::string text_, interface_;
  std::string path_;  // of the file; empty: there is none
  std::string host_and_port_;
};

}  // namespace troika
