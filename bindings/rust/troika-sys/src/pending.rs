// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_void;

/// The object that [`troika_pending`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_pending_s {
    _private: [u8; 0],
}

/// A step that was started and may not have ended. Counted; keeps its trainer alive until then.
pub type troika_pending = *mut troika_pending_s;

/// Called once when a step has ended, on a thread of the library. result and error are borrowed for
/// the call. The callback may call the library, except that it must not wait for a step of the same
/// trainer.
pub type troika_done_function = Option<
    unsafe extern "C" fn(
        status: troika_status,
        result: *const troika_step_result,
        error: *const troika_error,
        user: *mut c_void,
    ),
>;

extern "C" {
    /// Begins [`troika_trainer_step`](crate::troika_trainer_step) on a batch, and returns at once.
    /// Steps of one trainer run one after another, in the order of the calls. At most 64 may be
    /// waiting. Other calls of the trainer get BUSY until they have ended, except
    /// [`troika_trainer_request_stop`](crate::troika_trainer_request_stop) and
    /// [`troika_trainer_clear_stop`](crate::troika_trainer_clear_stop). If a stop is requested, the
    /// next step and all that wait then end with STOPPED, and train nothing. In a group only the
    /// next step ends so, in every process.
    ///
    /// The library keeps batch alive, and the caller may destroy it. done, if not NULL, is called
    /// with user when the step has ended, whatever its status. \*`out_pending`, if not NULL,
    /// receives the step. Destroying the trainer does not wait for the steps, nor for done.
    ///
    /// Owned: destroy \*`out_pending` with
    /// [`troika_pending_destroy`](crate::troika_pending_destroy). Errors: INVALID_ARGUMENT (a
    /// loader's batch that its loader moved past), BUSY (another call, or 64 steps are waiting),
    /// OUT_OF_MEMORY. An error of the step itself is the step's status. One thread per trainer at a
    /// time.
    pub fn troika_trainer_step_async(
        trainer: troika_trainer,
        batch: troika_batch,
        done: troika_done_function,
        user: *mut c_void,
        out_pending: *mut troika_pending,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns 1 in \*`out_is_done` if the step has ended, else 0. Never waits. Any thread.
    pub fn troika_pending_poll(
        pending: troika_pending,
        out_is_done: *mut i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Waits at most `timeout_ms` milliseconds for the end of the step, or without end if it is
    /// below 0. Returns what [`troika_trainer_step`](crate::troika_trainer_step) would have
    /// returned, with its result and its message. If the step has not ended by then, returns BUSY.
    /// `out_result` may be NULL.
    ///
    /// Errors: those of [`troika_trainer_step`](crate::troika_trainer_step); BUSY. Any thread.
    pub fn troika_pending_wait(
        pending: troika_pending,
        timeout_ms: i64,
        out_result: *mut troika_step_result,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a pending step, which goes on. NULL is ignored. Never fails.
    /// Any thread, but not while another is inside a call with the same handle.
    pub fn troika_pending_destroy(pending: troika_pending);
}
