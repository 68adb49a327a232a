// The end of a call that the host wants to stop.
#pragma once

#include <exception>

namespace troika {

// Thrown if the host asks for a stop. It is no error: the call returns STOPPED.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "a stop was requested"; }
};

}  // namespace troika
