// Opening libsodium.
#include "group/sodium.h"

#include <type_traits>

#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

#ifdef _WIN32
constexpr const char* kSodiumFile = "libsodium-23.dll";
#else
constexpr const char* kSodiumFile = "libsodium.so.23";
#endif

Sodium open() {
  std::string reason;
  void* const library = open_library(kSodiumFile, reason);
  if (!library) throw Error(Status::unsupported, text("a group of processes needs libsodium: ", reason));
  Sodium sodium{};
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find_function(library, name));
    if (!function)
      throw Error(Status::unsupported, text(kSodiumFile, " has no function ", name, ", need version 1.0.14 or later"));
  };
  find(sodium.init, "sodium_init");
  find(sodium.random, "randombytes_buf");
  find(sodium.compare, "sodium_memcmp");
  find(sodium.mac_init, "crypto_auth_hmacsha256_init");
  find(sodium.mac_update, "crypto_auth_hmacsha256_update");
  find(sodium.mac_final, "crypto_auth_hmacsha256_final");
  find(sodium.init_push, "crypto_secretstream_xchacha20poly1305_init_push");
  find(sodium.push, "crypto_secretstream_xchacha20poly1305_push");
  find(sodium.init_pull, "crypto_secretstream_xchacha20poly1305_init_pull");
  find(sodium.pull, "crypto_secretstream_xchacha20poly1305_pull");
  if (sodium.init() < 0) throw Error(Status::unsupported, text(kSodiumFile, " cannot be initialized"));
  return sodium;
}

}  // namespace

const Sodium& Sodium::get() {
  static const Sodium sodium = open();  // after an exception the next call tries again
  return sodium;
}

}  // namespace troika
