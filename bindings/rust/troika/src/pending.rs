//! Steps that run while the host goes on.

use crate::call::{step_result, value, Handle};
use crate::convert::Struct;
use crate::panics::Payload;
use crate::{Error, Result, Status, StepResult};
use std::fmt;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use troika_sys as sys;

/// A step of [`Trainer::step_async`](crate::Trainer::step_async), which may not have ended.
///
/// Any thread may use it at any time. The step goes on if it is dropped.
pub struct Pending {
    handle: Handle<sys::troika_pending_s>,
    done: Option<Arc<Done>>,
}

/// A closure that receives the result of a step.
struct Call<F> {
    function: F,
    done: Arc<Done>,
}

/// Whether a closure has ended, and its panic.
#[derive(Default)]
struct Done {
    state: Mutex<(bool, Option<Payload>)>,
    ended: Condvar,
}

impl Done {
    fn lock(&self) -> MutexGuard<'_, (bool, Option<Payload>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the closure, which runs after the end of its step, and resumes its panic. Returns
    /// whether it has ended.
    fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = self.lock();
        while !state.0 {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                None => self.ended.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    let waited = self.ended.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        let panic = state.1.take();
        drop(state);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
        true
    }
}

impl Pending {
    pub(crate) fn new(handle: Handle<sys::troika_pending_s>) -> Self {
        Self { handle, done: None }
    }

    /// Begins a step by `begin`, which gets the closure as C calls it.
    pub(crate) fn begin<F>(
        function: F,
        begin: impl FnOnce(
            sys::troika_done_function,
            *mut c_void,
        ) -> Result<Handle<sys::troika_pending_s>>,
    ) -> Result<Self>
    where
        F: FnOnce(Result<StepResult>) + Send + 'static,
    {
        let done = Arc::<Done>::default();
        let user = Box::into_raw(Box::new(Call { function, done: done.clone() }));
        let handle = begin(Some(finish::<F>), user.cast());
        if handle.is_err() {
            // Safety: the library did not take the closure.
            drop(unsafe { Box::from_raw(user) });
        }
        Ok(Self { handle: handle?, done: Some(done) })
    }

    fn raw(&self) -> sys::troika_pending {
        self.handle.raw()
    }

    /// Whether the step has ended. Never waits.
    pub fn poll(&self) -> Result<bool> {
        let is_done =
            value(0, |out, error| unsafe { sys::troika_pending_poll(self.raw(), out, error) })?;
        Ok(is_done != 0)
    }

    /// Waits for the end of the step, and of its closure. Returns what
    /// [`Trainer::step`](crate::Trainer::step) would have returned.
    ///
    /// # Errors
    /// Those of [`Trainer::step`](crate::Trainer::step).
    pub fn wait(&self) -> Result<StepResult> {
        let result = self.wait_for(-1);
        if let Some(done) = &self.done {
            done.wait(None);
        }
        result
    }

    /// Waits as [`Pending::wait`] does, but not longer than `timeout`. None: it has not ended yet.
    ///
    /// # Errors
    /// Those of [`Trainer::step`](crate::Trainer::step).
    pub fn wait_timeout(&self, timeout: Duration) -> Result<Option<StepResult>> {
        let until = Instant::now().checked_add(timeout);
        let result = self.wait_for(i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX));
        match (&result, &self.done) {
            (Err(error), _) if error.status() == Status::Busy && !self.poll()? => return Ok(None),
            (_, Some(done)) if !done.wait(until) => return Ok(None),
            _ => {}
        }
        result.map(Some)
    }

    fn wait_for(&self, timeout_ms: i64) -> Result<StepResult> {
        step_result(|out, error| unsafe {
            sys::troika_pending_wait(self.raw(), timeout_ms, out, error)
        })
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.handle).finish()
    }
}

unsafe extern "C" fn finish<F: FnOnce(Result<StepResult>)>(
    status: i32,
    result: *const sys::troika_step_result,
    error: *const sys::troika_error,
    user: *mut c_void,
) {
    // Safety: `user` is the closure, which the library calls once. Its arguments are valid.
    let Call { function, done } = *unsafe { Box::from_raw(user.cast::<Call<F>>()) };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        function(if status < 0 {
            Err(unsafe { Error::from_raw(status, error) })
        } else {
            let result = unsafe { StepResult::from_raw(&*result) };
            result.map(|result| StepResult { status: Status::of(status), ..result })
        })
    }));
    *done.lock() = (true, outcome.err());
    done.ended.notify_all();
}
