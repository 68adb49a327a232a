// The one error type: thrown below api/, turned into a status once by api/guard.h.
#pragma once

#include <troika/status.h>

#include <stdexcept>
#include <string>

namespace troika {

enum class Status : int32_t {
  invalid_argument = TROIKA_ERROR_INVALID_ARGUMENT,
  out_of_memory = TROIKA_ERROR_OUT_OF_MEMORY,
  not_found = TROIKA_ERROR_NOT_FOUND,
  unsupported = TROIKA_ERROR_UNSUPPORTED,
  busy = TROIKA_ERROR_BUSY,
  io = TROIKA_ERROR_IO,
  corrupt = TROIKA_ERROR_CORRUPT,
  not_initialized = TROIKA_ERROR_NOT_INITIALIZED,
  not_on_device = TROIKA_ERROR_NOT_ON_DEVICE,
  mismatch = TROIKA_ERROR_MISMATCH,
  device_unavailable = TROIKA_ERROR_DEVICE_UNAVAILABLE,
  comm = TROIKA_ERROR_COMM,
  detached = TROIKA_ERROR_DETACHED,
  internal = TROIKA_ERROR_INTERNAL,
  callback = TROIKA_ERROR_CALLBACK,
};

class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

}  // namespace troika
