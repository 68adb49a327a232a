/** @file pending.hpp Steps that run while the host goes on. */
#ifndef TROIKA_PENDING_HPP
#define TROIKA_PENDING_HPP

#include <troika/object.hpp>

#include <chrono>
#include <future>

namespace troika {
inline namespace v1 {

/** How a step ended. */
struct StepOutcome {
  Status status = Status::ok;  // below ok: the step failed
  StepResult result;           // if the step did not fail
  std::string message;         // of the error

  /** Returns the result, or throws the step's Error. */
  const StepResult& value() const {
    if (status < Status::ok) throw Error(status, message);
    return result;
  }
};

namespace detail {

/** The callback of a step, and its end, for which Pending waits. */
struct DoneUser {
  DoneFunction function;
  std::promise<void> ended;
};

inline void TROIKA_CALL call_done(troika_status status, const troika_step_result* result, const troika_error* error,
                                  void* user) {
  const std::unique_ptr<DoneUser> done(static_cast<DoneUser*>(user));
  std::exception_ptr exception;
  try {
    StepOutcome outcome{static_cast<Status>(status), convert<StepResult>(*result), error->message};
    outcome.result.status = outcome.status;
    done->function(outcome);
  } catch (...) {
    exception = std::current_exception();
  }
  done->function = nullptr;  // what it captured ends before the host sees the end
  if (exception)
    done->ended.set_exception(exception);
  else
    done->ended.set_value();
}

}  // namespace detail

/** A step that was started. It goes on if this object ends. Any thread, any number of calls. */
class Pending : public Object<troika_pending> {
 public:
  Pending() noexcept = default;
  explicit Pending(troika_pending owned) noexcept : Object(owned) {}

  /** Returns whether the step, and its callback, have ended. Never waits. */
  bool poll() const {
    std::int32_t is_done = 0;
    detail::call(troika_pending_poll, detail::handle_of(*this), &is_done);
    return is_done == 1 && has_called_back(std::chrono::milliseconds(0));
  }

  /** Waits for the step and its callback. Throws the step's error, or the callback's exception. */
  StepResult wait() const { return *wait_at_most(-1); }

  /** Waits as `wait` does. Returns nothing if the step has not ended after `timeout`. */
  template <typename Rep, typename Period>
  std::optional<StepResult> wait_for(std::chrono::duration<Rep, Period> timeout) const {
    constexpr double kLongest = 1e12;  // milliseconds, beyond which clocks overflow
    const std::chrono::duration<double, std::milli> wanted(timeout);
    return wait_at_most(static_cast<std::int64_t>(std::min(std::max(wanted.count(), 0.0), kLongest)));
  }

 private:
  friend class Trainer;
  Pending(troika_pending owned, std::future<void> called_back) : Object(owned), called_back_(std::move(called_back)) {}

  bool has_called_back(std::chrono::milliseconds timeout) const {
    return !called_back_.valid() || called_back_.wait_for(timeout) == std::future_status::ready;
  }

  std::optional<StepResult> wait_at_most(std::int64_t timeout_ms) const {
    if (called_back_.valid()) {  // it ends after the step
      if (timeout_ms >= 0 && !has_called_back(std::chrono::milliseconds(timeout_ms))) return std::nullopt;
      called_back_.get();
      timeout_ms = -1;
    }
    try {
      return detail::fill<StepResult>(troika_pending_wait, detail::handle_of(*this), timeout_ms);
    } catch (const Error& error) {
      if (error.status() != Status::busy || poll()) throw;
      return std::nullopt;
    }
  }

  std::shared_future<void> called_back_;
};

}  // namespace v1
}  // namespace troika

#endif
