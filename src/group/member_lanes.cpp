// The lanes of a member, as every system has them.
#include "core/error.h"
#include "core/text.h"
#include "group/member.h"

namespace troika {

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

}  // namespace troika
