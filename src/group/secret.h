// The secret of a group: what its processes prove to each other that they know.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "group/sodium.h"

namespace troika {

constexpr size_t kNonceBytes = 32;
using Nonce = std::array<unsigned char, kNonceBytes>;
using Mac = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;

// Both nonces of a connection. Proofs and keys of one connection are of no use in another.
struct Nonces {
  Nonce server{}, client{};
};

class Secret {
 public:
  explicit Secret(std::string bytes) : bytes_(std::move(bytes)) {}

  // Returns HMAC-SHA256 with the secret as the key, of a label and both nonces.
  Mac mac(std::string_view label, const Nonces& nonces) const;
  // Compares in a time that does not depend on the bytes.
  bool proves(const Mac& shown, std::string_view label, const Nonces& nonces) const;

 private:
  const std::string bytes_;
};

Nonce fresh_nonce();

// Returns a random secret, of letters and digits.
std::string fresh_secret();

// One direction of a connection: frames are encrypted, authenticated, and cannot be repeated,
// reordered or left out.
class Sealer {
 public:
  static constexpr size_t kHeader = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
  static constexpr size_t kOverhead = crypto_secretstream_xchacha20poly1305_ABYTES;
  using Header = std::array<unsigned char, kHeader>;

  // The receiver needs the header first.
  explicit Sealer(const Mac& key);
  const Header& header() const { return header_; }
  // Writes frame.size() + kOverhead bytes.
  void seal(std::string_view frame, char* sealed);

 private:
  crypto_secretstream_xchacha20poly1305_state state_{};
  Header header_{};
};

class Opener {
 public:
  Opener(const Mac& key, const Sealer::Header& header);
  // Returns false if the frame is not the sender's next one.
  bool open(std::string_view sealed, std::string& frame);

 private:
  crypto_secretstream_xchacha20poly1305_state state_{};
};

}  // namespace troika
