//! Panics of the host's closures. They never cross C: the call that ran the closure resumes them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

pub(crate) type Payload = Box<dyn Any + Send>;

thread_local! {
    /// How many calls of the library this thread is inside of.
    static DEPTH: Cell<i32> = const { Cell::new(0) };
    /// The first panic of a closure that these calls ran on this thread.
    static KEPT: RefCell<Option<Payload>> = const { RefCell::new(None) };
}

/// Runs a call of the library, in which panics of closures may be kept.
pub(crate) fn watch<R>(call: impl FnOnce() -> R) -> R {
    // A thread that ends may have no cells any more; then nobody could resume a panic.
    let change = |by: i32| DEPTH.try_with(|depth| depth.set(depth.get() + by)).unwrap_or(());
    change(1);
    let result = call();
    change(-1);
    result
}

/// Resumes the panic that was kept on this thread, if there is one.
pub(crate) fn resume() {
    let kept = KEPT.try_with(|kept| kept.borrow_mut().take());
    if let Ok(Some(payload)) = kept {
        resume_unwind(payload);
    }
}

/// Keeps a panic for the call that this thread is inside of. On a thread of the library there is
/// no such call, and the payload comes back.
fn keep(payload: Payload) -> Result<(), Payload> {
    if DEPTH.try_with(Cell::get).unwrap_or(0) <= 0 {
        return Err(payload);
    }
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.is_none() {
            *kept = Some(payload);
        } else {
            // Only the first panic is resumed, and to drop the payload of another may panic.
            std::mem::forget(payload);
        }
    });
    Ok(())
}

/// Runs a closure of the host inside of a callback. After a panic it returns None, and the panic is
/// resumed by the call that ran the callback, or is passed to `elsewhere` on the library's threads.
pub(crate) fn guard<R>(call: impl FnOnce() -> R, elsewhere: impl FnOnce(Payload)) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Some(result),
        Err(payload) => {
            if let Err(payload) = keep(payload) {
                elsewhere(payload);
            }
            None
        }
    }
}

/// The text of a panic.
pub(crate) fn text_of(payload: &Payload) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

/// Drops the `T` that `user` points to. The library calls it when it no longer needs `user`.
pub(crate) unsafe extern "C" fn destroy<T>(user: *mut c_void) {
    // Safety: `user` was made by `Box::into_raw`, and the library calls this once.
    guard(|| drop(unsafe { Box::from_raw(user.cast::<T>()) }), std::mem::forget);
}
