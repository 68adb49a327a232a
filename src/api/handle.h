// Opaque handles, each a tagged, shared hold on an object; and the flag that makes a second
// concurrent call BUSY.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "api/guard.h"

namespace troika::api {

// A handle struct begins with the tag of its kind, so that a handle of another kind is recognised.
template <typename Object, uint32_t kTag>
struct Handle {
  explicit Handle(std::shared_ptr<Object> o) : object(std::move(o)) {}
  ~Handle() { tag = 0; }
  static constexpr uint32_t kKind = kTag;
  uint32_t tag = kTag;
  std::shared_ptr<Object> object;
};

// Returns the object of a handle. INVALID_ARGUMENT, which names function and argument, if the
// handle is NULL or of another kind.
template <typename H>
auto& object_of(H* handle, const char* function, const char* argument) {
  required(handle, function, argument);
  if (handle->tag != H::kKind)
    throw Error(Status::invalid_argument,
                text(function, ": argument '", argument, "' is not a live handle of the type it should be"));
  return handle->object;
}

// Ends a hold. NULL and a handle of another kind are ignored. There is no status to return, so no
// destructor may throw.
template <typename H>
void destroy_handle(H* handle) noexcept {
  if (handle && handle->tag == H::kKind) delete handle;
}

// Marks an object as in use during one call. A second call, from any thread, gets BUSY.
class Exclusive {
 public:
  Exclusive(std::atomic<bool>& flag, const char* function, const char* what) : flag_(flag) {
    if (flag_.exchange(true, std::memory_order_acquire))
      throw Error(Status::busy, text(function, ": another call of this ", what,
                                     " is in progress (perhaps on this thread, in a callback)"));
  }
  ~Exclusive() { flag_.store(false, std::memory_order_release); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace troika::api
