// The only process of its group hears its own messages.
#include "group/member.h"

#include <process.h>

#include "core/error.h"
#include "core/machine.h"
#include "core/text.h"
#include "group/windows/lone_process.h"

namespace troika {

Member::Member(std::unique_ptr<Connection>) : generation_(0) {}

Member::~Member() = default;

Roster Member::join(int rank, int size, const std::string&, Deadline) {
  const std::lock_guard lock(mutex_);
  rank_ = rank;
  size_ = static_cast<size_t>(size);
  roster_ = {ProcessInfo{host_name(), _getpid(), 0, 0}};
  return roster_;
}

void Member::on_failure(int64_t lane, Failed failed) {
  const std::lock_guard calling(calling_);
  std::unique_lock lock(mutex_);
  Lane& own = lanes_.at(lane);
  own.failed = failed;
  const std::string reason = own.failure;
  lock.unlock();
  if (failed && !reason.empty()) failed(reason);
}

void Member::say(int64_t lane, const std::string&, const std::string& data, Deadline) {
  const std::lock_guard lock(mutex_);
  Lane& own = lanes_.at(lane);
  if (!own.failure.empty()) throw_failure(own.failure);
  own.rounds[own.said++] = {data};
}

std::vector<std::string> Member::hear(int64_t lane, Deadline) {
  const std::lock_guard lock(mutex_);
  Lane& own = lanes_.at(lane);
  if (!own.failure.empty()) throw_failure(own.failure);
  return std::move(own.rounds.extract(own.heard++).mapped());
}

std::string Member::failure_of(int64_t lane) const {
  const std::lock_guard lock(mutex_);
  return lanes_.at(lane).failure;
}

void Member::abort(int64_t lane, const std::string& reason) noexcept {
  try {
    const std::lock_guard calling(calling_);
    std::unique_lock lock(mutex_);
    const auto found = lanes_.find(lane);
    if (found == lanes_.end() || !found->second.failure.empty()) return;
    found->second.failure = text("rank ", rank_, " failed: ", reason);
    const Failed failed = found->second.failed;
    const std::string failure = found->second.failure;
    lock.unlock();
    if (failed) failed(failure);
  } catch (const std::exception&) {  // without memory for the reason there is nothing to pass on
  }
}

}  // namespace troika
