// Calls of functions of the host.
#pragma once

#include <exception>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace troika::api {

// Calls the host. An exception that comes back through the function becomes CALLBACK, with the
// exception's text.
template <typename Call>
auto call_host(const char* function, const Call& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    const std::string_view message = e.what();
    throw Error(Status::callback,
                message.empty() ? text(function, ": threw an exception without a message") : std::string(message));
  } catch (...) {
    throw Error(Status::callback, text(function, ": threw an exception of unknown type"));
  }
}

}  // namespace troika::api
