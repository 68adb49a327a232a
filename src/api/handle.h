// Opaque handles, each a tagged, shared hold on an object; and the marks of calls in progress,
// which make a concurrent call BUSY.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "api/guard.h"
#include "core/process_state.h"
#include "core/use.h"

namespace troika::api {

// Whether objects of a kind have threads, which a forked child lacks.
enum class Threads { no, yes };

// A handle struct begins with the tag of its kind, so that a handle of another kind is recognised.
template <typename Object, uint32_t kTag, Threads kThreads = Threads::no>
struct Handle {
  explicit Handle(std::shared_ptr<Object> o) : object(std::move(o)) {}
  ~Handle() { tag = 0; }
  static constexpr uint32_t kKind = kTag;
  bool is_before_fork() const { return kThreads == Threads::yes && generation != fork_generation(); }
  uint32_t tag = kTag;
  const uint32_t generation = fork_generation();
  std::shared_ptr<Object> object;
};

// A hold on the object of a handle for the length of a call, so that a callback may destroy the
// handle. It must be a variable: what a temporary hold points to could end with the temporary.
template <typename Object>
class Hold {
 public:
  explicit Hold(std::shared_ptr<Object> object) : object_(std::move(object)) {}
  Object& operator*() const& { return *object_; }
  Object* operator->() const& { return object_.get(); }
  const std::shared_ptr<Object>& shared() const& { return object_; }
  // Whether the object ends with this hold: its handle was destroyed during the call.
  bool is_last() const { return object_.use_count() == 1; }
  Object& operator*() const&& = delete;
  Object* operator->() const&& = delete;
  const std::shared_ptr<Object>& shared() const&& = delete;

 private:
  std::shared_ptr<Object> object_;
};

template <typename H>
void check_handle(H* handle, const char* function, const char* argument) {
  required(handle, function, argument);
  if (handle->tag != H::kKind)
    throw Error(Status::invalid_argument,
                text(function, ": argument '", argument, "' is not a live handle of the type it should be"));
  if (handle->is_before_fork())
    throw Error(Status::unsupported, text(function, ": argument '", argument,
                                          "' was created before this process was forked; create it in the child"));
  if (is_exiting()) throw Error(Status::unsupported, text(function, ": the process is exiting"));
}

// Holds the object of a handle. INVALID_ARGUMENT, which names function and argument, if the handle
// is NULL or of another kind.
template <typename H>
auto object_of(H* handle, const char* function, const char* argument) {
  check_handle(handle, function, argument);
  return Hold(handle->object);
}

// Ends the caller's hold. NULL and a handle of another kind are ignored. There is no status to
// return, so no destructor may throw. An object that has lost its threads, or the libraries that it
// needs, is not freed.
template <typename H>
void destroy_handle(H* handle) noexcept {
  if (handle && handle->tag == H::kKind && !handle->is_before_fork() && !is_exiting()) delete handle;
}

[[noreturn]] inline void refuse_busy(const char* function, const char* what) {
  throw Error(Status::busy, text(function, ": another call of this ", what,
                                 " is in progress (perhaps on this thread, in a callback)"));
}

// Marks an object as in use during one call. A second call, from any thread, gets BUSY.
class Exclusive {
 public:
  Exclusive(Use& use, const char* function, const char* what) : use_(use) {
    if (!use_.begin_alone()) refuse_busy(function, what);
  }
  ~Exclusive() { use_.end_alone(); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  Use& use_;
};

// Marks an object as read during one call. Calls that read run together; one that may change the
// object gets BUSY, and makes them BUSY.
class Together {
 public:
  Together(Use& use, const char* function, const char* what) : use_(use) {
    if (!use_.begin_together()) refuse_busy(function, what);
  }
  ~Together() { use_.end_together(); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  Use& use_;
};

}  // namespace troika::api
