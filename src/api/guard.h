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
#include "core/text.h"

namespace troika::api {

// Fills the caller's error struct. A message that is too long is cut between two characters.
inline void fill_error(troika_error* error, troika_status status, std::string_view message) noexcept {
  if (!error) return;
  size_t n = message.size();
  if (n >= TROIKA_ERROR_MESSAGE_BYTES) {
    n = TROIKA_ERROR_MESSAGE_BYTES - 1;
    while (n > 0 && (static_cast<unsigned char>(message[n]) & 0xC0) == 0x80) --n;  // not inside a UTF-8 sequence
  }
  error->status = status;
  std::memcpy(error->message, message.data(), n);
  error->message[n] = '\0';
  for (size_t i = 0; i < n; ++i)
    if (error->message[i] == '\n' || error->message[i] == '\r') error->message[i] = ' ';
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

// The sizes that a struct had in earlier versions of its header, smallest first. Hosts that were
// built against those versions still pass them. None yet. When a struct grows, add its old size:
// `template <> inline constexpr std::array<size_t, 1> kEarlierSizes<troika_x>{24};`
template <typename Struct>
inline constexpr std::array<size_t, 0> kEarlierSizes{};

// Returns whether the struct has this size in some version of its header: an earlier version, this
// one, or a later one if the size is larger.
template <typename Struct>
bool is_size_of(uint32_t size) {
  const auto& earlier = kEarlierSizes<Struct>;
  return (size >= sizeof(Struct) && size <= 65536) || std::find(earlier.begin(), earlier.end(), size) != earlier.end();
}

// Copies the fields of the caller's struct into a full struct of defaults. The structs of older
// callers are shorter, those of newer callers longer.
template <typename Options>
Options read_options(const Options* given, const Options& defaults, const char* type_name) {
  Options options = defaults;
  if (!given) return options;
  if (!is_size_of<Options>(given->struct_size))
    throw Error(Status::invalid_argument, text(type_name, ": struct_size is ", given->struct_size, ", need ",
                                               sizeof(Options), "; begin with the _INIT macro or the _init function"));
  const size_t known = given->struct_size < sizeof(Options) ? given->struct_size : sizeof(Options);
  // A longer struct comes from a newer header: fields that this library does not know must be 0.
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(Options); i < given->struct_size; ++i)
    if (bytes[i] != 0)
      throw Error(Status::unsupported, text(type_name, ": sets a field that this version of the library (",
                                            TROIKA_VERSION_MAJOR, ".", TROIKA_VERSION_MINOR, ") does not know"));
  std::memcpy(&options, given, known);
  options.struct_size = sizeof(Options);
  return options;
}

// Returns the size of the caller's version of a result struct; 0 is the size of this version. Calls
// that change something check the size first, so that a refused struct changes nothing.
template <typename Result>
uint32_t result_size(const Result* out, const char* function, const char* argument) {
  required(out, function, argument);
  const uint32_t size = out->struct_size == 0 ? static_cast<uint32_t>(sizeof(Result)) : out->struct_size;
  if (!is_size_of<Result>(size))
    throw Error(Status::invalid_argument,
                text(function, ": ", argument, "->struct_size is ", size, ", need ", sizeof(Result)));
  return size;
}

// Writes the fields of a result struct that the caller's version has.
template <typename Result>
void write_result(Result* out, Result result, const char* function, const char* argument) {
  const uint32_t size = result_size(out, function, argument);
  result.struct_size = size;
  std::memcpy(out, &result, size < sizeof(Result) ? size : sizeof(Result));
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
