// libsodium, opened at run time: the functions that are used.
#pragma once

#include <sodium.h>

namespace troika {

// The functions of libsodium.so.23. A program without groups of processes needs no libsodium.
struct Sodium {
  decltype(&sodium_init) init;
  decltype(&randombytes_buf) random;
  decltype(&sodium_memcmp) compare;
  decltype(&crypto_auth_hmacsha256_init) mac_init;
  decltype(&crypto_auth_hmacsha256_update) mac_update;
  decltype(&crypto_auth_hmacsha256_final) mac_final;
  decltype(&crypto_secretstream_xchacha20poly1305_init_push) init_push;
  decltype(&crypto_secretstream_xchacha20poly1305_push) push;
  decltype(&crypto_secretstream_xchacha20poly1305_init_pull) init_pull;
  decltype(&crypto_secretstream_xchacha20poly1305_pull) pull;

  // UNSUPPORTED if the library is missing or too old.
  static const Sodium& get();
};

}  // namespace troika
