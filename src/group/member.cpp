// Connecting to the hub, and the member's thread.
#include "group/member.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <system_error>
#include <utility>

#include "core/build.h"
#include "core/error.h"
#include "core/named_thread.h"
#include "core/process_state.h"
#include "core/text.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBeat{1000};
// The hub notices what is late at the deadline. A member that hears nothing gives up later.
constexpr milliseconds kGrace{2000};
constexpr milliseconds kTimeToLeave{500};
constexpr milliseconds kTimeToPass{1000};  // a reason on to all processes

std::string name_of_host() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, HOST_NAME_MAX);
  return name;
}

}  // namespace

Member::Member(std::unique_ptr<Connection> to_hub)
    : generation_(fork_generation()), connection_(std::move(to_hub)), sent_(steady_clock::now()) {
  try {
    thread_ = named_thread("troika group", [this] { run(); });
  } catch (const std::system_error& e) {
    throw Error(Status::out_of_memory, text("group: its thread cannot be started: ", e.what()));
  }
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
      if (connection_->is_open()) connection_->send(Frame("bye").encode());
    } catch (const std::exception&) {  // without memory: the end of the connection says so, too
    }
  }
  waker_.wake();
  thread_.join();
}

Roster Member::join(int rank, int size, const std::string& machine, Deadline deadline) {
  std::unique_lock lock(mutex_);
  rank_ = rank;
  send(Frame("hello")
           .set("rank", rank)
           .set("size", size)
           .set("version", TROIKA_VERSION_STRING)
           .set("commit", build_commit())
           .set("host", name_of_host())
           .set("machine", machine)
           .set("pid", static_cast<int64_t>(getpid())));
  changed_.wait_until(lock, deadline + kGrace, [&] { return !roster_.empty() || !failure_.empty(); });
  if (!failure_.empty()) throw_failure(failure_);
  if (roster_.empty()) throw_failure("rank 0 did not say before the deadline (connect_timeout_ms) that all have joined");
  return roster_;
}

// ---- lanes ----

void Member::throw_failure(const std::string& reason) const {
  throw Error(Status::comm, text("group: rank ", rank_, ": ", reason));
}

int64_t Member::open_lane() {
  std::lock_guard lock(mutex_);
  lanes_[next_lane_];  // another process may have made it fail already
  return next_lane_++;
}

void Member::close_lane(int64_t lane) {
  const std::lock_guard calling(calling_);
  const std::lock_guard lock(mutex_);
  lanes_.erase(lane);
}

void Member::on_failure(int64_t lane, Failed failed) {
  const std::lock_guard calling(calling_);
  std::unique_lock lock(mutex_);
  Lane& own = lanes_.at(lane);
  own.failed = failed;
  const std::string reason = failure_.empty() ? own.failure : failure_;
  std::erase_if(to_call_, [&](const auto& call) { return call.first == lane; });
  lock.unlock();
  if (failed && !reason.empty()) failed(reason);
}

void Member::say(int64_t lane, const std::string& what, const std::string& data, Deadline deadline) {
  if (generation_ != fork_generation())
    throw Error(Status::unsupported, "group: it was created before this process was forked; create a new one");
  std::lock_guard lock(mutex_);
  Lane& own = lanes_.at(lane);
  for (const std::string& reason : {failure_, own.failure, left_})
    if (!reason.empty()) throw_failure(reason);
  send(Frame("say")
           .set("lane", lane)
           .set("round", own.said++)
           .set("what", what)
           .set("milliseconds", std::max<int64_t>(std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count(), 0))
           .set_bytes("data", data));
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
  for (const std::string& reason : {failure_, own.failure, left_})
    if (!reason.empty()) throw_failure(reason);
  own.failure = "rank 0, which passes the messages on, does not answer";
  throw_failure(own.failure);
}

std::string Member::failure_of(int64_t lane) const {
  std::lock_guard lock(mutex_);
  return failure_.empty() ? lanes_.at(lane).failure : failure_;
}

// Returns when the hub has passed the reason on: a host may end its process next.
void Member::abort(int64_t lane, const std::string& reason) {
  if (generation_ != fork_generation()) return;
  std::unique_lock lock(mutex_);
  const auto has_failed = [&] {
    const auto found = lanes_.find(lane);
    return found == lanes_.end() || !found->second.failure.empty() || !failure_.empty() || !left_.empty();
  };
  if (has_failed()) return;
  send(Frame("abort").set("lane", lane).set("reason", text("rank ", rank_, " failed: ", reason)));
  changed_.wait_for(lock, kTimeToPass, has_failed);
}

// Called under the mutex. The thread sends what cannot be sent at once.
void Member::send(const Frame& frame) {
  sent_ = steady_clock::now();
  connection_->send(frame.encode());
  if (connection_->wants_to_send()) waker_.wake();
}

// ---- the thread ----

void Member::run() {
  std::string reason;
  try {
    while (wait()) {
    }
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
  const Deadline deadline = steady_clock::now() + kTimeToLeave;
  while (connection_->wants_to_send() && steady_clock::now() < deadline) {
    connection_->flush();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// Returns false when the thread ends.
bool Member::wait() {
  pollfd ends[] = {{waker_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
  {
    std::lock_guard lock(mutex_);
    ends[1].fd = connection_->socket().get();
    if (connection_->wants_to_send()) ends[1].events |= POLLOUT;
  }
  poll(ends, std::size(ends), static_cast<int>(kBeat.count()));
  if (ends[0].revents) waker_.clear();
  {
    std::lock_guard lock(mutex_);
    if (ends_) return false;
    connection_->flush();
    connection_->read([&](std::string&& bytes) { take(bytes); });
    if (steady_clock::now() - sent_ >= kBeat && connection_->is_open()) send(Frame("beat"));
    if (connection_->has_ended()) return false;
  }
  call_failed();
  return true;
}

void Member::take(const std::string& bytes) {
  try {
    const Frame frame = Frame::decode(bytes);
    const std::string kind = frame.kind();
    if (kind == "round") {
      const auto lane = lanes_.find(frame.get<int64_t>("lane"));
      if (lane == lanes_.end()) return;
      std::vector<std::string>& data = lane->second.rounds[frame.get<int64_t>("round")];
      for (const nlohmann::json& field : frame.fields.at("data")) data.push_back(Frame::bytes_of(field));
    } else if (kind == "roster") {
      for (const nlohmann::json& process : frame.fields.at("processes"))
        roster_.push_back({process.at("host"), process.at("pid"), process.at("node"), process.at("local_rank")});
    } else if (kind == "fail") {
      const int64_t lane = frame.get<int64_t>("lane");
      const std::string reason = frame.get<std::string>("reason");
      if (lane < 0)
        fail_group(reason);
      else
        fail(lane, reason);
    } else if (kind == "refuse") {
      fail_group(frame.get<std::string>("reason"));
    } else if (kind == "bye") {
      left_ = "rank 0 has left the group";
    } else {
      return;
    }
    changed_.notify_all();
  } catch (const nlohmann::json::exception&) {
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
  failure_ = reason;
  for (auto& [id, lane] : lanes_) fail(id, reason);
  changed_.notify_all();
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
