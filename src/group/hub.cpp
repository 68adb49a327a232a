// The hub's thread: accepting processes, rounds, losses.
#include "group/hub.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "core/build.h"
#include "core/error.h"
#include "core/named_thread.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeToProve{10};     // for a connection that has not said who it is
constexpr milliseconds kTimeToLeave{1000};           // for the last frames
constexpr int64_t kLongestRound = int64_t{1} << 40;  // in ms: a deadline must not overflow
constexpr size_t kMostStrangers = 256;               // connections that have not said who they are

}  // namespace

Hub::Hub(Socket listener, int size, std::string secret, Deadline joining, const Log& log)
    : listener_(std::move(listener)),
      size_(size),
      secret_(std::move(secret)),
      joining_(joining),
      log_(log),
      members_(static_cast<size_t>(size), nullptr),
      roster_(static_cast<size_t>(size)),
      machines_(static_cast<size_t>(size)),
      rounds_(size) {}

Hub::~Hub() {
  ends_ = true;
  waker_.wake();
  if (thread_.joinable()) thread_.join();
}

Socket Hub::own_end() {
  auto [own, theirs] = Socket::pair();
  peers_.push_back(std::make_unique<Peer>(Connection(std::move(own))));
  return std::move(theirs);
}

void Hub::start() {
  thread_ = require_thread("troika hub", "group", [this] { run(); });
}

void Hub::run() {
  while (!ends_) {
    try {
      wait();
      look_at_clock();
    } catch (const std::exception& e) {  // out of memory
      try {
        fail(-1, text("rank 0: the group's hub failed: ", e.what()));
      } catch (const std::exception&) {  // closing all connections says so, too
        peers_.clear();
        std::fill(members_.begin(), members_.end(), nullptr);
      }
    }
    try {
      remove_ended();
    } catch (const std::exception&) {  // out of memory: tried again
    }
  }
  try {
    send_all(begin_frame(FrameKind::bye));
  } catch (const std::exception&) {  // the end of the connections says so, too
  }
  const Deadline deadline = steady_clock::now() + kTimeToLeave;
  auto has_more = [](const std::unique_ptr<Peer>& peer) { return peer->connection.wants_to_send(); };
  while (std::any_of(peers_.begin(), peers_.end(), has_more) && steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
    for (const auto& peer : peers_) peer->connection.flush();
  }
}

void Hub::wait() {
  std::vector<pollfd> ends = {{waker_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const auto& peer : peers_)
    ends.push_back({peer->connection.socket().get(),
                    static_cast<short>(POLLIN | (peer->connection.wants_to_send() ? POLLOUT : 0)), 0});
  Deadline until = std::min(steady_clock::now() + kBeat, rounds_.next_deadline());
  if (!is_complete_) until = std::min(until, joining_);
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  if (poll(ends.data(), ends.size(), static_cast<int>(std::clamp<int64_t>(left, 0, kBeat.count()))) <= 0) return;
  if (ends[0].revents) waker_.clear();
  for (size_t i = 2; i < ends.size(); ++i) {
    Peer& peer = *peers_[i - 2];
    if (ends[i].revents & POLLOUT) peer.connection.flush();
    if (ends[i].revents & ~POLLOUT) peer.connection.read([&](std::string&& bytes) { take(peer, bytes); });
  }
  if (ends[1].revents) accept();
}

void Hub::accept() {
  while (true) {
    Socket socket = listener_.accept();
    if (!socket.is_open()) return;
    auto is_stranger = [](const std::unique_ptr<Peer>& peer) { return peer->rank < 0; };
    if (static_cast<size_t>(std::count_if(peers_.begin(), peers_.end(), is_stranger)) >= kMostStrangers)
      (*std::find_if(peers_.begin(), peers_.end(), is_stranger))->connection.end("made room for later connections");
    peers_.push_back(std::make_unique<Peer>(Connection(std::move(socket), Connection::Side::server, secret_)));
    peers_.back()->connection.flush();
  }
}

void Hub::take(Peer& peer, const std::string& bytes) {
  peer.heard = steady_clock::now();
  try {
    Unpacker frame(bytes);
    const auto kind = static_cast<FrameKind>(frame.number());
    if (peer.rank < 0) {
      if (kind == FrameKind::hello) return greet(peer, frame);
      return peer.connection.end("did not say who it is");
    }
    if (kind == FrameKind::say) return say(peer, frame);
    if (kind == FrameKind::abort) {
      const int64_t lane = frame.number();
      std::string reason = take_reason(frame);
      // A rank may have waited for another that waits itself: only the hub knows who is silent.
      for (int rank = 0; rank < size_; ++rank) reason += silence_of(rank);
      return fail(lane, reason);
    }
    if (kind == FrameKind::bye) peer.has_left = true;
  } catch (const Malformed&) {
    peer.connection.end("sent a frame without meaning");
  }
}

void Hub::greet(Peer& peer, Unpacker& frame) {
  const int64_t rank = frame.number(), size = frame.number();
  const std::string version = frame.text(), commit = frame.text();
  ProcessInfo process;
  process.host = frame.text();
  const std::string machine = frame.text();
  process.pid = frame.number();
  auto refuse = [&](const std::string& reason) {
    peer.connection.send(begin_frame(FrameKind::refuse).text(reason).bytes());
    peer.connection.end(reason);
    log_.write(LogTopic::comm, LogLevel::warning, text("group: a process was refused: ", reason));
  };
  if (size != size_) return refuse(text("rank ", rank, " expects ", size, " processes, rank 0 expects ", size_));
  if (rank < 0 || rank >= size_) return refuse(text("rank is ", rank, ", need 0 to ", size_ - 1));
  if (version != TROIKA_VERSION_STRING || commit != build_commit())
    return refuse(text("rank ", rank, " has library ", version, ", commit ", commit, "; rank 0 has ",
                       TROIKA_VERSION_STRING, ", commit ", build_commit()));
  if (is_complete_ || members_[static_cast<size_t>(rank)])
    return refuse(
        text("rank ", rank, " has joined already; another process has the same rank, or an earlier run is alive"));
  const auto index = static_cast<size_t>(rank);
  peer.rank = static_cast<int>(rank);
  members_[index] = &peer;
  roster_[index] = std::move(process);
  machines_[index] = machine;
  if (++joined_ == size_) announce();
}

// Nodes are numbered in the order of their first ranks.
void Hub::announce() {
  is_complete_ = true;
  listener_ = Socket();
  std::map<std::string, std::pair<int, int>> nodes;  // number, ranks so far
  Packer frame = begin_frame(FrameKind::roster);
  for (size_t rank = 0; rank < roster_.size(); ++rank) {
    const auto [node, is_new] = nodes.try_emplace(machines_[rank], static_cast<int>(nodes.size()), 0);
    ProcessInfo& process = roster_[rank];
    process.node = node->second.first;
    process.local_rank = node->second.second++;
    frame.text(process.host).number(process.pid).number(process.node).number(process.local_rank);
  }
  send_all(frame);
}

void Hub::say(const Peer& peer, Unpacker& frame) {
  const int64_t lane = frame.number(), round = frame.number();
  const std::string what = frame.text();
  const int64_t milliseconds = std::clamp<int64_t>(frame.number(), 0, kLongestRound);
  try {
    const std::vector<std::string> messages = rounds_.add({lane, round}, peer.rank, what, frame.text(), milliseconds);
    if (messages.empty()) return;
    Packer result = begin_frame(FrameKind::round);
    result.number(lane).number(round);
    for (const std::string& message : messages) result.text(message);
    send_all(result);
  } catch (const Rounds::Failure& failure) {
    fail(failure.lane, failure.reason);
  }
}

std::string Hub::print_process(int rank) const {
  const ProcessInfo& process = roster_[static_cast<size_t>(rank)];
  return text("rank ", rank, " (process ", process.pid, " on ", process.host, ')');
}

// Says for how long a rank has been silent; empty if it has not.
std::string Hub::silence_of(int rank) const {
  const Peer* const peer = members_[static_cast<size_t>(rank)];
  if (!peer) return "";
  const auto silence = steady_clock::now() - peer->heard;
  if (silence <= 2 * kBeat) return "";
  return text("; ", print_process(rank), " was last heard ",
              std::chrono::duration_cast<std::chrono::seconds>(silence).count(), " s ago");
}

void Hub::look_at_clock() {
  const Deadline now = steady_clock::now();
  if (!is_complete_ && now >= joining_ && failure_.empty()) {
    std::vector<bool> has;
    for (const Peer* member : members_) has.push_back(member != nullptr);
    fail(-1, text(joined_, " of ", size_, " processes have joined before the deadline (connect_timeout_ms); ",
                  print_ranks(has, false), joined_ == size_ - 1 ? " has not" : " have not"));
  }
  for (const Rounds::Failure& late : rounds_.find_late(now, [this](int rank) { return silence_of(rank); }))
    fail(late.lane, late.reason);
  for (const auto& peer : peers_) {
    if (peer->rank < 0 && peer->connection.socket().peer_address().family() != AF_UNIX &&
        now - peer->accepted > kTimeToProve)
      peer->connection.end("did not say who it is in time");
    if (peer->rank < 0 || now - peer->sent < kBeat) continue;
    peer->sent = now;
    peer->connection.send(begin_frame(FrameKind::beat).bytes());
  }
}

void Hub::remove_ended() {
  for (size_t i = 0; i < peers_.size();) {
    if (!peers_[i]->connection.has_ended()) {
      ++i;
      continue;
    }
    const std::unique_ptr<Peer> peer = std::move(peers_[i]);
    peers_.erase(peers_.begin() + static_cast<ptrdiff_t>(i));
    if (peer->rank < 0)
      refuse_stranger(*peer, peer->connection.reason());
    else
      lose(*peer);
  }
}

// Logs the first of each kind: a stranger must not fill the log.
void Hub::refuse_stranger(const Peer& peer, const std::string& reason) {
  if (strangers_[reason]++ > 0) return;
  log_.write(LogTopic::comm, LogLevel::warning,
             text("group: a connection from ", to_string(peer.connection.socket().peer_address()), " was refused: it ",
                  reason, "; later ones of this kind are not logged"));
}

// A rank that leaves may have done its part: only rounds without its message fail.
void Hub::lose(const Peer& peer) {
  members_[static_cast<size_t>(peer.rank)] = nullptr;
  if (!is_complete_) {
    --joined_;  // another process may join in its place
    log_.write(
        LogTopic::comm, LogLevel::warning,
        text("group: ", print_process(peer.rank), " was lost before all had joined: it ", peer.connection.reason()));
    return;
  }
  if (!peer.has_left) return fail(-1, text(print_process(peer.rank), " is lost: it ", peer.connection.reason()));
  for (const Rounds::Failure& failure : rounds_.leave(peer.rank)) fail(failure.lane, failure.reason);
}

void Hub::fail(int64_t lane, const std::string& reason) {
  if (lane < 0 && !failure_.empty()) return;  // the first reason stays
  if (lane < 0) failure_ = reason;
  lane < 0 ? rounds_.drop_all() : rounds_.drop_lane(lane);
  send_all(begin_frame(FrameKind::fail).number(lane).text(printable(reason)));
}

void Hub::send_all(const Packer& frame) {
  // Rank 0 comes last: if its host ends this process after a failure, the others have been told.
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (!*member) continue;
    (*member)->sent = steady_clock::now();
    (*member)->connection.send(frame.bytes());
  }
}

}  // namespace troika
