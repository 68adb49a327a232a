// The proof of both sides, and frames.
#include "group/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/file_system.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr std::string_view kProtocol = "troika1\n";
constexpr size_t kLengthBytes = 4;
constexpr size_t kMostFrame = size_t{1} << 28;
constexpr size_t kReadAtOnce = 64 * 1024;

size_t length_of(const char* bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<size_t>(static_cast<unsigned char>(bytes[i])) << 8 * i;
  return length;
}

template <typename Bytes>
const char* read_bytes(const char* from, Bytes& to) {
  std::memcpy(to.data(), from, to.size());
  return from + to.size();
}

}  // namespace

Connection::Connection(Socket socket, Side side, const Secret& secret)
    : socket_(std::move(socket)), side_(side), secret_(&secret), stage_(Stage::greeting) {
  if (side_ == Side::client) return;
  nonces_.server = fresh_nonce();
  put(kProtocol.data(), kProtocol.size());
  put(nonces_.server.data(), nonces_.server.size());
}

Connection::Connection(Socket socket)
    : socket_(std::move(socket)), side_(Side::server), secret_(nullptr), stage_(Stage::frames) {}

void Connection::end(const std::string& reason) {
  if (has_ended()) return;
  stage_ = Stage::ended;
  store_reason(reason_, reason);
}

void Connection::end_by_error(int error) noexcept {
  try {
    end("failed: " + system_error_text(error));
  } catch (const std::bad_alloc&) {
    end("failed");
  }
}

void Connection::close() {
  end("was closed");
  socket_ = Socket();
}

void Connection::send(std::string_view frame) {
  if (has_ended()) return;
  const size_t length = frame.size() + (sealer_ ? Sealer::kOverhead : 0), at = outgoing_.size();
  outgoing_.resize(at + kLengthBytes + length);
  char* to = outgoing_.data() + at;
  for (size_t i = 0; i < kLengthBytes; ++i) *to++ = static_cast<char>(length >> 8 * i);
  if (sealer_)
    sealer_->seal(frame, to);
  else
    frame.copy(to, length);
  flush();
}

void Connection::flush() noexcept {
  while (wants_to_send()) {
    const ptrdiff_t sent = socket_.send(outgoing_.data() + sent_, outgoing_.size() - sent_);
    if (sent == -1) return;
    if (sent < 0) return end_by_error(errno);
    sent_ += static_cast<size_t>(sent);
  }
  outgoing_.clear();
  sent_ = 0;
}

size_t Connection::expected() const {
  switch (stage_) {
    case Stage::greeting:
      return kProtocol.size() + kNonceBytes + (side_ == Side::server ? sizeof(Mac) + Sealer::kHeader : 0);
    case Stage::proof: return sizeof(Mac) + Sealer::kHeader;
    default: break;
  }
  if (incoming_.size() - taken_ < kLengthBytes) return kLengthBytes;
  const size_t length = length_of(incoming_.data() + taken_);
  return kLengthBytes + (length > kMostFrame ? 0 : length);  // such a frame is refused at once
}

void Connection::read(const std::function<void(std::string&&)>& take) {
  char bytes[kReadAtOnce];
  while (!has_ended()) {
    // A stranger cannot make this side store more than the next part of the proof.
    const size_t most = is_open() ? sizeof bytes : expected() - incoming_.size();
    const ptrdiff_t received = socket_.receive(bytes, std::min(most, sizeof bytes));
    if (received == -1) return;
    if (received == 0) return end("closed the connection");
    if (received < 0) return end_by_error(errno);
    incoming_.append(bytes, static_cast<size_t>(received));
    const std::string_view begin = std::string_view(incoming_).substr(0, kProtocol.size());
    if (stage_ == Stage::greeting && begin != kProtocol.substr(0, begin.size()))
      return end("does not speak this protocol");
    while (!has_ended() && incoming_.size() - taken_ >= expected()) take_part(take);
    incoming_.erase(0, std::exchange(taken_, 0));
  }
}

void Connection::take_part(const std::function<void(std::string&&)>& take) {
  switch (stage_) {
    case Stage::greeting: return take_greeting();
    case Stage::proof: return take_proof();
    default: return take_frame(take);
  }
}

// The client's label and the server's differ, so that a proof cannot be sent back.
void Connection::take_greeting() {
  const char* at = incoming_.data() + kProtocol.size();
  taken_ += expected();
  if (side_ == Side::client) {
    read_bytes(at, nonces_.server);
    nonces_.client = fresh_nonce();
    const Mac proof = secret_->mac("client proof", nonces_);
    sealer_.emplace(secret_->mac("client key", nonces_));
    put(kProtocol.data(), kProtocol.size());
    put(nonces_.client.data(), nonces_.client.size());
    put(proof.data(), proof.size());
    put(sealer_->header().data(), Sealer::kHeader);
    stage_ = Stage::proof;
    has_proven_ = true;
    return flush();
  }
  Mac proof;
  Sealer::Header header;
  at = read_bytes(read_bytes(at, nonces_.client), proof);
  read_bytes(at, header);
  if (!secret_->proves(proof, "client proof", nonces_)) return end("does not know the secret of the group");
  opener_.emplace(secret_->mac("client key", nonces_), header);
  const Mac own = secret_->mac("server proof", nonces_);
  sealer_.emplace(secret_->mac("server key", nonces_));
  put(own.data(), own.size());
  put(sealer_->header().data(), Sealer::kHeader);
  stage_ = Stage::frames;
  flush();
}

void Connection::take_proof() {
  Mac proof;
  Sealer::Header header;
  read_bytes(read_bytes(incoming_.data() + taken_, proof), header);
  taken_ += expected();
  if (!secret_->proves(proof, "server proof", nonces_)) return end("does not know the secret of the group");
  opener_.emplace(secret_->mac("server key", nonces_), header);
  stage_ = Stage::frames;
}

void Connection::take_frame(const std::function<void(std::string&&)>& take) {
  const size_t length = length_of(incoming_.data() + taken_);
  if (length > kMostFrame) return end(text("sent a frame of ", length, " bytes"));
  const std::string_view sealed = std::string_view(incoming_).substr(taken_ + kLengthBytes, length);
  std::string frame;
  if (!opener_)
    frame = sealed;
  else if (!opener_->open(sealed, frame))
    return end("sent a frame that is not its next one");
  taken_ += kLengthBytes + length;
  take(std::move(frame));
}

}  // namespace troika
