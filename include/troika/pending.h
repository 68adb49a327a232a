/** @file pending.h Steps that run while the host goes on.
 *
 * Threads: any thread may use a pending step, at any time, with any number of calls at once.
 */
#ifndef TROIKA_PENDING_H
#define TROIKA_PENDING_H

#include <troika/trainer.h>

TROIKA_BEGIN_DECLS

/** A step that was started and may not have ended. Counted; keeps its trainer alive until then. */
typedef struct troika_pending_s *troika_pending;

/**
 * Called once when a step has ended, on a thread of the library. `result` and `error` are borrowed
 * for the call. The callback may call the library, except that it must not wait for a step of the
 * same trainer.
 */
typedef void(TROIKA_CALL *troika_done_function)(troika_status status,
                                                const troika_step_result *result,
                                                const troika_error *error, void *user);

/**
 * Begins `troika_trainer_step` on a batch, and returns at once. Steps of one trainer run one after
 * another, in the order of the calls. At most 64 may be waiting. Other calls of the trainer get
 * BUSY until they have ended, except `troika_trainer_request_stop` and `troika_trainer_clear_stop`.
 * If a stop is requested, the next step and all that wait then end with STOPPED, and train nothing.
 * In a group only the next step ends so, in every process.
 *
 * The library keeps `batch` alive, and the caller may destroy it. `done`, if not NULL, is called
 * with `user` when the step has ended, whatever its status. `*out_pending`, if not NULL, receives
 * the step. Destroying the trainer does not wait for the steps, nor for `done`.
 *
 * Owned: destroy `*out_pending` with `troika_pending_destroy`. Errors: INVALID_ARGUMENT (a loader's
 * batch that its loader moved past), BUSY (another call, or 64 steps are waiting), OUT_OF_MEMORY.
 * An error of the step itself is the step's status. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_step_async(troika_trainer trainer, troika_batch batch,
                                                    troika_done_function done, void *user,
                                                    troika_pending *out_pending,
                                                    troika_error *error);

/** Returns 1 in `*out_is_done` if the step has ended, else 0. Never waits. Any thread. */
TROIKA_API(troika_status) troika_pending_poll(troika_pending pending, int32_t *out_is_done,
                                              troika_error *error);

/**
 * Waits at most `timeout_ms` milliseconds for the end of the step, or without end if it is below 0.
 * Returns what `troika_trainer_step` would have returned, with its result and its message. If the
 * step has not ended by then, returns BUSY. `out_result` may be NULL.
 *
 * Errors: those of `troika_trainer_step`; BUSY. Any thread.
 */
TROIKA_API(troika_status) troika_pending_wait(troika_pending pending, int64_t timeout_ms,
                                              troika_step_result *out_result, troika_error *error);

/**
 * Gives up the caller's hold on a pending step, which goes on. NULL is ignored. Never fails. Any
 * thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_pending_destroy(troika_pending pending);

TROIKA_END_DECLS

#endif
