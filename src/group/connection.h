// A connection between two processes of a group: it proves both sides, then carries frames.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "group/secret.h"
#include "group/socket.h"

namespace troika {

// Nothing that the other side sends is interpreted before the other side has proven that it knows
// the secret. The client has to prove first, so a stranger learns nothing but a nonce.
//
//     server: name of the protocol (8 bytes), nonce (32)
//     client: name of the protocol, nonce, proof (32), header of its frames (24)
//     server: proof, header of its frames
//     both:   frames: length (4 bytes, little-endian), sealed bytes
//
// Used under the owner's lock.
class Connection {
 public:
  enum class Side { server, client };

  Connection(Socket socket, Side side, const Secret& secret);  // the secret must outlive it
  // An end that needs no proof: of a pair within this process.
  explicit Connection(Socket socket);

  const Socket& socket() const { return socket_; }
  bool is_open() const { return stage_ == Stage::frames; }  // both sides have proven themselves
  bool has_ended() const { return stage_ == Stage::ended; }
  // Whether the connection ended after this client had proven itself.
  bool is_proving() const { return has_proven_ && !is_open(); }
  const std::string& reason() const { return reason_; }  // why it has ended
  bool wants_to_send() const { return !has_ended() && sent_ < outgoing_.size(); }

  // Sends as much as possible at once; the rest when `flush` is called. The connection is open. If
  // there is no memory for the frame, nothing has been sent.
  void send(std::string_view frame);
  void flush() noexcept;
  // Reads what has come, and calls take(frame) for each frame.
  void read(const std::function<void(std::string&&)>& take);
  void end(const std::string& reason);
  void close();  // the other side notices

 private:
  enum class Stage { greeting, proof, frames, ended };

  void end_by_error(int error) noexcept;  // of the system
  size_t expected() const;  // bytes of the other side's next part
  void take_part(const std::function<void(std::string&&)>& take);
  void take_greeting();
  void take_proof();
  void take_frame(const std::function<void(std::string&&)>& take);
  void put(const void* data, size_t bytes) { outgoing_.append(static_cast<const char*>(data), bytes); }

  Socket socket_;
  const Side side_;
  const Secret* const secret_;  // null: no proof is needed
  Stage stage_;
  bool has_proven_ = false;  // the client's proof is on its way
  Nonces nonces_;
  std::optional<Sealer> sealer_;
  std::optional<Opener> opener_;
  std::string outgoing_, incoming_, reason_;
  size_t sent_ = 0, taken_ = 0;  // of these
};

}  // namespace troika
