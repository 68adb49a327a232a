// How waiting in a group ends.
#include "comm/group_state.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

void GroupState::abort(const std::string& reason) noexcept {
  {
    std::lock_guard lock(mutex);
    if (is_aborted_) return;
    store_reason(abort_reason_, reason);
    is_aborted_ = true;
  }
  notify();
}

void GroupState::check_usable(int rank) const {
  if (is_aborted_) throw Error(Status::comm, text("rank ", rank, ": the group was aborted: ", abort_reason_));
}

void GroupState::throw_late(int rank, int size, const std::string& what) {
  throw Error(Status::comm, text("rank ", rank, " of ", size, " waited past the deadline ", what));
}

}  // namespace troika
