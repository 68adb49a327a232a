// The boundary: the only place where exceptions become statuses.
#pragma once

#include <troika/status.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/error.h"
#include "core/float_environment.h"
#include "core/interruption.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika::api {

// Fills the caller's error struct with one line of UTF-8.
inline void fill_error(troika_error* error, troika_status status, std::string_view message) noexcept {
  if (!error) return;
  error->status = status;
  write_printable(message, error->message, sizeof error->message);
}

inline void clear_error(troika_error* error) noexcept {
  if (!error) return;
  error->status = TROIKA_OK;
  error->message[0] = '\0';
}

// Runs `body`, which returns void or a status that is no error. Turns an exception into a status
// and a message.
template <typename Body>
troika_status guard(troika_error* error, Body&& body) noexcept {
  try {
    const DefaultFloatEnvironment environment;
    troika_status status = TROIKA_OK;
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
    } else {
      status = body();
    }
    clear_error(error);
    return status;
  } catch (const Error& e) {
    fill_error(error, static_cast<troika_status>(e.status()), e.what());
    return static_cast<troika_status>(e.status());
  } catch (const Stopped&) {
    clear_error(error);
    return TROIKA_STOPPED;
  } catch (const std::bad_alloc&) {
    fill_error(error, TROIKA_ERROR_OUT_OF_MEMORY,
               "host memory: an allocation failed; free memory or use a smaller batch");
    return TROIKA_ERROR_OUT_OF_MEMORY;
  } catch (const std::length_error&) {  // a container of more elements than memory can ever hold
    fill_error(error, TROIKA_ERROR_OUT_OF_MEMORY, "host memory: an array would be larger than any memory");
    return TROIKA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    fill_error(error, TROIKA_ERROR_INTERNAL, e.what());
    return TROIKA_ERROR_INTERNAL;
  } catch (...) {
    fill_error(error, TROIKA_ERROR_INTERNAL, "an exception of unknown type");
    return TROIKA_ERROR_INTERNAL;
  }
}

// ---- argument checks ----

template <typename T>
T* required(T* pointer, const char* function, const char* argument) {
  if (!pointer) throw Error(Status::invalid_argument, text(function, ": argument '", argument, "' is NULL"));
  return pointer;
}

inline size_t bytes_argument(int64_t size_bytes, const char* function) {
  if (size_bytes < 0)
    throw Error(Status::invalid_argument,
                text(function, ": argument 'size_bytes' is ", size_bytes, ", needs at least 0"));
  return static_cast<size_t>(size_bytes);
}

// Copies text to a caller's buffer, always NUL-terminated. `*out_size` receives the bytes needed,
// including the NUL.
inline void write_text(std::string_view value, char* buffer, int64_t capacity, int64_t* out_size,
                       const char* function) {
  if (capacity < 0 || (!buffer && capacity > 0))
    throw Error(Status::invalid_argument,
                text(function, ": buffer of ", capacity, " bytes, need NULL with 0 or a buffer"));
  if (out_size) *out_size = static_cast<int64_t>(value.size()) + 1;
  if (capacity == 0) return;
  const size_t n = std::min(value.size(), static_cast<size_t>(capacity) - 1);
  std::memcpy(buffer, value.data(), n);
  buffer[n] = '\0';
}

}  // namespace troika::api
