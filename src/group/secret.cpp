// Proofs and frames by libsodium.
#include "group/secret.h"

namespace troika {
namespace {

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

static_assert(crypto_secretstream_xchacha20poly1305_KEYBYTES == crypto_auth_hmacsha256_BYTES);

}  // namespace

Mac Secret::mac(std::string_view label, const Nonces& nonces) const {
  const Sodium& sodium = Sodium::get();
  crypto_auth_hmacsha256_state state;
  sodium.mac_init(&state, bytes_of(bytes_), bytes_.size());
  sodium.mac_update(&state, bytes_of(label), label.size());
  sodium.mac_update(&state, nonces.server.data(), nonces.server.size());
  sodium.mac_update(&state, nonces.client.data(), nonces.client.size());
  Mac mac;
  sodium.mac_final(&state, mac.data());
  return mac;
}

bool Secret::proves(const Mac& shown, std::string_view label, const Nonces& nonces) const {
  const Mac expected = mac(label, nonces);
  return Sodium::get().compare(shown.data(), expected.data(), expected.size()) == 0;
}

Nonce fresh_nonce() {
  Nonce nonce;
  Sodium::get().random(nonce.data(), nonce.size());
  return nonce;
}

std::string fresh_secret() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string secret;
  for (unsigned char byte : fresh_nonce()) secret += {kDigits[byte / 16], kDigits[byte % 16]};
  return secret;
}

Sealer::Sealer(const Mac& key) { Sodium::get().init_push(&state_, header_.data(), key.data()); }

void Sealer::seal(std::string_view frame, char* sealed) {
  Sodium::get().push(&state_, reinterpret_cast<unsigned char*>(sealed), nullptr, bytes_of(frame), frame.size(), nullptr,
                     0, 0);
}

Opener::Opener(const Mac& key, const Sealer::Header& header) {
  Sodium::get().init_pull(&state_, header.data(), key.data());
}

bool Opener::open(std::string_view sealed, std::string& frame) {
  if (sealed.size() < Sealer::kOverhead) return false;
  frame.resize(sealed.size() - Sealer::kOverhead);
  return Sodium::get().pull(&state_, reinterpret_cast<unsigned char*>(frame.data()), nullptr, nullptr, bytes_of(sealed),
                            sealed.size(), nullptr, 0) == 0;
}

}  // namespace troika
