// Connecting to the hub, and the member's thread.
#include "group/member.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/build.h"
#include "core/error.h"
#include "core/machine.h"
#include "core/named_thread.h"
#include "core/process_state.h"
#include "core/text.h"
#include "group/connection.h"
#include "group/frames.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The hub notices what is late at the deadline. A member that hears nothing gives up later.
constexpr milliseconds kGrace{2000};
constexpr milliseconds kTimeForBye{500};
constexpr milliseconds kTimeToPass{1000};  // a reason on to all processes

Roster read_roster(Unpacker& frame) {
  Roster roster;
  while (!frame.is_at_end()) {
    ProcessInfo process;
    process.host = frame.text();
    process.pid = frame.number();
    process.node = static_cast<int>(frame.number());
    process.local_rank = static_cast<int>(frame.number());
    roster.push_back(std::move(process));
  }
  return roster;
}

}  // namespace

Member::Member(std::unique_ptr<Connection> to_hub)
    : generation_(fork_generation()), connection_(std::move(to_hub)), sent_(steady_clock::now()), waker_(std::make_unique<Waker>()) {
  thread_ = require_thread("troika group", "group", [this] { run(); });
}

Member::~Member() {
  if (generation_ != fork_generation()) {  // the thread does not exist here
    if (thread_.joinable()) thread_.detach();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
    try {
      if (connection_->is_open()) connection_->send(begin_frame(FrameKind::bye).bytes());
    } catch (const std::exception&) {  // without memory: the end of the connection says so, too
    }
  }
  waker_->wake();
  thread_.join();
}

Roster Member::join(int rank, int size, const std::string& machine, Deadline deadline) {
  std::unique_lock lock(mutex_);
  rank_ = rank;
  size_ = static_cast<size_t>(size);
  send(begin_frame(FrameKind::hello)
           .number(rank)
           .number(size)
           .text(TROIKA_VERSION_STRING)
           .text(build_commit())
           .text(host_name())
           .text(machine)
           .number(getpid()));
  changed_.wait_until(lock, deadline + kGrace, [&] { return !roster_.empty() || !failure_.empty(); });
  if (!failure_.empty()) throw_failure(failure_);
  if (roster_.empty())
    throw_failure("rank 0 did not say before the deadline (connect_timeout_ms) that all have joined");
  return roster_;
}

// ---- lanes ----

void Member::on_failure(int64_t lane, Failed failed) {
  const std::lock_guard calling(calling_);
  std::unique_lock lock(mutex_);
  Lane& own = lanes_.at(lane);
  own.failed = failed;
  std::erase_if(to_call_, [&](const auto& call) { return call.first == lane; });
  if (!failed) return;
  const std::string reason = own.failure.empty() ? failure_ : own.failure;
  lock.unlock();
  if (!reason.empty()) failed(reason);
}

void Member::say(int64_t lane, const std::string& what, const std::string& data, Deadline deadline) {
  if (generation_ != fork_generation())
    throw Error(Status::unsupported, "group: it was created before this process was forked; create a new one");
  std::lock_guard lock(mutex_);
  Lane& own = lanes_.at(lane);
  for (const std::string& reason : {own.failure, failure_, left_})
    if (!reason.empty()) throw_failure(reason);
  const int64_t left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  send(begin_frame(FrameKind::say)
           .number(lane)
           .number(own.said)
           .text(what)
           .number(std::max<int64_t>(left, 0))
           .text(data));
  ++own.said;
}

std::vector<std::string> Member::hear(int64_t lane, Deadline deadline) {
  std::unique_lock lock(mutex_);
  Lane& own = lanes_.at(lane);
  auto found = own.rounds.end();
  changed_.wait_until(lock, deadline + kGrace, [&] {
    found = own.rounds.find(own.heard);
    return found != own.rounds.end() || !failure_.empty() || !own.failure.empty() || !left_.empty();
  });
  if (found != own.rounds.end()) {
    ++own.heard;
    return std::move(own.rounds.extract(found).mapped());
  }
  for (const std::string& reason : {own.failure, failure_, left_})
    if (!reason.empty()) throw_failure(reason);
  own.failure = "rank 0, which passes the messages on, does not answer";
  throw_failure(own.failure);
}

std::string Member::failure_of(int64_t lane) const {
  std::lock_guard lock(mutex_);
  const std::string& own = lanes_.at(lane).failure;  // came first: a process that has failed may end next
  return own.empty() ? failure_ : own;
}

// Returns when the hub has passed the reason on: a host may end its process next.
void Member::abort(int64_t lane, const std::string& reason) noexcept {
  if (generation_ != fork_generation()) return;
  std::unique_lock lock(mutex_);
  const auto has_failed = [&] {
    const auto found = lanes_.find(lane);
    return found == lanes_.end() || !found->second.failure.empty() || !failure_.empty() || !left_.empty();
  };
  if (has_failed()) return;
  try {
    send(begin_frame(FrameKind::abort).number(lane).text(text("rank ", rank_, " failed: ", reason)));
  } catch (const std::exception&) {
    connection_->end("out of memory");
    waker_->wake();
  }
  changed_.wait_for(lock, kTimeToPass, has_failed);
}

// Called under the mutex. The thread sends what cannot be sent at once.
void Member::send(const Packer& frame) {
  sent_ = steady_clock::now();
  connection_->send(frame.bytes());
  if (connection_->wants_to_send()) waker_->wake();
}

// ---- the thread ----

void Member::run() {
  std::string reason;
  try {
    while (wait()) {}
    std::lock_guard lock(mutex_);
    reason = text("rank 0 is lost: it ", connection_->reason());
  } catch (const std::exception&) {  // there is no memory for a longer text either
    reason = "out of memory";
  }
  try {
    std::unique_lock lock(mutex_);
    if (!ends_ && left_.empty()) fail_group(reason);
    lock.unlock();
    call_failed();
  } catch (const std::exception&) {  // waits end at their deadlines
  }
  std::unique_lock lock(mutex_);
  const Deadline deadline = steady_clock::now() + kTimeForBye;
  while (connection_->wants_to_send() && steady_clock::now() < deadline) {
    connection_->flush();
    std::this_thread::sleep_for(milliseconds(1));
  }
  connection_->close();
}

// Returns false when the thread ends.
bool Member::wait() {
  pollfd ends[] = {{waker_->get(), POLLIN, 0}, {-1, POLLIN, 0}};
  {
    std::lock_guard lock(mutex_);
    ends[1].fd = connection_->socket().get();
    if (connection_->wants_to_send()) ends[1].events |= POLLOUT;
  }
  poll(ends, std::size(ends), static_cast<int>(kBeat.count()));
  if (ends[0].revents) waker_->clear();
  {
    std::lock_guard lock(mutex_);
    if (ends_) return false;
    connection_->flush();
    connection_->read([&](std::string&& bytes) { take(bytes); });
    if (steady_clock::now() - sent_ >= kBeat && connection_->is_open()) send(begin_frame(FrameKind::beat));
    if (connection_->has_ended()) return false;
  }
  call_failed();
  return true;
}

void Member::take(const std::string& bytes) {
  try {
    Unpacker frame(bytes);
    switch (static_cast<FrameKind>(frame.number())) {
      case FrameKind::round: {
        const auto lane = lanes_.find(frame.number());
        if (lane == lanes_.end()) return;
        const int64_t round = frame.number();
        std::vector<std::string> messages;
        while (!frame.is_at_end()) messages.push_back(frame.text());
        if (messages.size() != roster_.size()) throw Malformed();
        lane->second.rounds[round] = std::move(messages);
        break;
      }
      case FrameKind::roster: {
        Roster roster = read_roster(frame);
        if (roster.size() != size_) throw Malformed();
        roster_ = std::move(roster);
        break;
      }
      case FrameKind::fail: {
        const int64_t lane = frame.number();
        const std::string reason = take_reason(frame);
        if (lane < 0)
          fail_group(reason);
        else
          fail(lane, reason);
        break;
      }
      case FrameKind::refuse: fail_group(take_reason(frame)); break;
      case FrameKind::bye: left_ = "rank 0 has left the group"; break;
      default: return;
    }
    changed_.notify_all();
  } catch (const Malformed&) {
    connection_->end("sent a frame without meaning");
  }
}

// Called under the mutex, as the next function.
void Member::fail(int64_t lane, const std::string& reason) {
  if (lane >= next_lane_) {  // this process will open it
    lanes_[lane].failure = reason;
    return;
  }
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || !found->second.failure.empty()) return;
  found->second.failure = reason;
  if (found->second.failed) to_call_.emplace_back(lane, reason);
}

void Member::fail_group(const std::string& reason) {
  if (!failure_.empty()) return;
  store_reason(failure_, reason);
  changed_.notify_all();  // before what may run out of memory
  for (auto& [id, lane] : lanes_) fail(id, reason);
}

// A lane is not closed meanwhile.
void Member::call_failed() {
  const std::lock_guard calling(calling_);
  std::unique_lock lock(mutex_);
  for (const auto& [lane, reason] : std::exchange(to_call_, {})) {
    const auto found = lanes_.find(lane);
    if (found == lanes_.end()) continue;
    const Failed failed = found->second.failed;
    lock.unlock();
    failed(reason);
    lock.lock();
  }
}

}  // namespace troika
