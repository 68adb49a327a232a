/** @file callbacks.hpp Functions of the host that the library calls. */
#ifndef TROIKA_CALLBACKS_HPP
#define TROIKA_CALLBACKS_HPP

#include <troika/enums.hpp>

#include <functional>
#include <string_view>

namespace troika {
inline namespace v1 {

struct Progress;
struct ReadRequest;
struct StepOutcome;

/**
 * Receives a line of the log. Both texts are borrowed for the call. Called from any thread, one
 * call at a time. It must not call the library. No call waits for a line, so an exception is
 * dropped.
 */
using LogFunction = std::function<void(LogLevel level, std::string_view topic, std::string_view line)>;

/**
 * Writes the samples that are wanted, and returns their number: all; a stream may return fewer at
 * the end of its epoch. It returns `stop_reading` to stop the call that waits for the samples.
 *
 * An exception is thrown again, the same object, by the call that waits for the samples. Called on
 * a loader's thread; several loaders may call at once. It must not use the loader that waits.
 */
using ReadFunction = std::function<std::int64_t(const ReadRequest& request)>;

/** Returned by a ReadFunction: the call that waits for the samples returns Status::stopped. */
inline constexpr std::int64_t stop_reading = -1;

/**
 * Receives the progress after each batch, on the thread that trains or evaluates. Returns true to
 * stop. It must not use the trainer, except `request_stop`. An exception ends the call, which
 * throws the same object.
 */
using ProgressFunction = std::function<bool(const Progress& progress)>;

/**
 * Receives the end of a step, on a thread of the library. It may use the library, but must not wait
 * for a step of the same trainer. An exception is thrown again, the same object, by
 * `Pending::wait`.
 */
using DoneFunction = std::function<void(const StepOutcome& outcome)>;

/** Called when the library no longer needs something. It must not call the library. Exceptions are
 *  dropped. */
using DestroyFunction = std::function<void()>;

}  // namespace v1
}  // namespace troika

#endif
