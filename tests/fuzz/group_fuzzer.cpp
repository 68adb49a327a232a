// Fuzzes the bytes that reach a process of a group: proofs of the secret on either side, frames to
// the hub, and frames to a member.
#include <algorithm>
#include <string>
#include <string_view>

#include "core/build.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/packed.h"
#include "group/hub.h"
#include "group/member.h"

namespace {

using namespace troika;
using std::chrono::steady_clock;

constexpr std::string_view kProtocol = "troika1\n";

Deadline soon() { return steady_clock::now() + std::chrono::milliseconds(20); }

void write_all(const Socket& to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ptrdiff_t sent = to.send(bytes.data(), bytes.size());
    if (sent <= 0) return;  // the other side has ended the connection, or does not read on
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

// Cuts bytes into frames: a byte has the length of the next one.
std::string frames_of(std::string_view bytes) {
  std::string framed;
  while (!bytes.empty()) {
    const size_t length = std::min<size_t>(static_cast<unsigned char>(bytes[0]), bytes.size() - 1);
    framed += {static_cast<char>(length), 0, 0, 0};
    framed += bytes.substr(1, length);
    bytes.remove_prefix(1 + length);
  }
  return framed;
}

// A stranger who does not know the secret must never be taken for a process of the group.
void prove(Connection::Side side, std::string_view bytes) {
  static const Secret secret("a secret");
  auto [own, theirs] = Socket::pair();
  Connection connection(std::move(own), side, secret);
  connection.flush();
  const size_t half = bytes.size() / 2;
  for (const std::string_view part : {kProtocol, bytes.substr(0, half), bytes.substr(half)}) {
    write_all(theirs, part);
    connection.read([](std::string&&) { abort(); });
    if (connection.is_open()) abort();
  }
}

std::string framed(const std::string& frame) { return std::string{static_cast<char>(frame.size()), 0, 0, 0} + frame; }

// The process has joined, as the only one or as one of two, and sends what it likes. The hub ends
// without waiting.
void send_to_hub(int size, std::string_view bytes) {
  static const Log log;
  Hub hub(Socket(), size, "a secret", soon(), log);
  const Socket end = hub.own_end();
  hub.start();
  const Packer hello = std::move(begin_frame(FrameKind::hello)
                                     .number(0)
                                     .number(size)
                                     .text(TROIKA_VERSION_STRING)
                                     .text(build_commit())
                                     .text("host")
                                     .text("machine")
                                     .number(1));
  write_all(end, framed(hello.bytes()));
  write_all(end, frames_of(bytes));
  char reply[4096];
  for (int i = 0; i < 100 && end.receive(reply, sizeof reply) == -1; ++i) std::this_thread::yield();
}

// The hub sends what it likes. Each call of the member returns, or throws one line.
void send_to_member(std::string_view bytes) {
  auto [own, theirs] = Socket::pair();
  Member member(std::make_unique<Connection>(std::move(own)));
  const int64_t lane = member.open_lane();
  member.on_failure(lane, [](const std::string& reason) {
    if (reason.empty()) abort();
  });
  write_all(theirs, frames_of(bytes));
  theirs = Socket();  // nothing else comes: all waits end
  try {
    const Roster roster = member.join(1, 2, "machine", soon());
    if (roster.size() != 2) abort();
    member.say(lane, "a call", "a message", soon());
    if (member.hear(lane, soon()).size() != 2) abort();
  } catch (const Error& e) {
    if (std::string_view(e.what()).find('\n') != std::string_view::npos) abort();
  }
  member.abort(lane, "the end");
}

}  // namespace

// The first byte chooses the receiver.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return -1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (*data % 4) {
    case 0: prove(Connection::Side::server, bytes); break;
    case 1: prove(Connection::Side::client, bytes); break;
    case 2: send_to_hub(1 + *data / 4 % 2, bytes); break;
    default: send_to_member(bytes);
  }
  return 0;
}
