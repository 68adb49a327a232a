/** @file error.hpp Errors, and how the library is called. */
#ifndef TROIKA_ERROR_HPP
#define TROIKA_ERROR_HPP

#include <troika/status.h>
#include <troika/enums.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace troika {
inline namespace v1 {

/**
 * An error of the library. `what()` is the library's message, unchanged: one line with the object,
 * what was found and what is needed.
 *
 * Misuse that the binding finds itself is a std::logic_error, also in one line: a closed object, or
 * std::invalid_argument for a text with a NUL inside and for elements of a wrong size or dtype.
 */
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/** Returns the name of a status, such as "TROIKA_ERROR_BUSY". Any thread. */
inline const char* status_name(Status status) noexcept {
  return troika_status_name(static_cast<troika_status>(status));
}

namespace detail {

[[noreturn]] inline void refuse(const std::string& message) { throw std::invalid_argument(message); }

/** Calls a function whose last parameter is an error. Throws the error; returns other statuses. */
template <typename Function, typename... Arguments>
Status call(Function function, Arguments... arguments) {
  troika_error error;
  const auto status = static_cast<Status>(function(arguments..., &error));
  if (status < Status::ok) throw Error(status, error.message);
  return status;
}

/** Returns a text as C wants it. */
inline const char* c_text(const std::string& text, const char* name) {
  const std::size_t place = text.find('\0');
  if (place != std::string::npos)
    refuse(std::string(name) + ": the text has a NUL at byte " + std::to_string(place) + ", need none");
  return text.c_str();
}

inline const char* c_text(const std::optional<std::string>& text, const char* name) {
  return text ? c_text(*text, name) : nullptr;
}

/** Reads a text from a function whose last parameters are buffer, capacity, size and error. */
template <typename Function, typename... Arguments>
std::string read_text(Function function, Arguments... arguments) {
  std::string text(1024, '\0');
  while (true) {
    std::int64_t size = 0;
    const Status status = call(function, arguments..., text.data(), static_cast<std::int64_t>(text.size()), &size);
    if (status != Status::ok) return {};
    const bool fits = size <= static_cast<std::int64_t>(text.size());
    text.resize(static_cast<std::size_t>(fits ? size - 1 : size));
    if (fits) return text;
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace troika

#endif
