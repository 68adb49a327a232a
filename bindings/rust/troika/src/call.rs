//! Calls of the library, and the handles that it counts.

use crate::convert::Struct;
use crate::{panics, Error, Metrics, Result, Status, StepResult};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::ptr::{null_mut, NonNull};
use std::thread;
use troika_sys as sys;

/// Calls the library, and returns a status that is no error. The argument of `call` is the address
/// of the error struct.
pub(crate) fn call(call: impl FnOnce(*mut sys::troika_error) -> i32) -> Result<Status> {
    let result = call_quietly(call);
    panics::resume();
    result
}

/// `call` without resuming panics, for callers that first take what the library returned.
fn call_quietly(call: impl FnOnce(*mut sys::troika_error) -> i32) -> Result<Status> {
    let mut error = MaybeUninit::uninit();
    let status = panics::watch(|| call(error.as_mut_ptr()));
    if status < 0 {
        // Safety: a call that fails fills the struct.
        return Err(unsafe { Error::from_raw(status, error.as_ptr()) });
    }
    Ok(Status::of(status))
}

/// A call that returns a new handle, or none with a status that is only information.
pub(crate) fn call_for_handle<T: Counted>(
    call: impl FnOnce(*mut *mut T, *mut sys::troika_error) -> i32,
) -> Result<(Option<Handle<T>>, Status)> {
    let mut raw = null_mut();
    let result = call_quietly(|error| call(&mut raw, error));
    let handle = NonNull::new(raw).map(Handle);
    panics::resume();
    Ok((handle, result?))
}

/// A call that creates an object.
pub(crate) fn create<T: Counted>(
    call: impl FnOnce(*mut *mut T, *mut sys::troika_error) -> i32,
) -> Result<Handle<T>> {
    let (handle, status) = call_for_handle(call)?;
    handle.ok_or_else(|| {
        Error::new(Status::Internal, format!("the call returned {status} and no object"))
    })
}

/// A call that creates several objects, `count` of them.
pub(crate) fn create_several<T: Counted>(
    count: usize,
    call: impl FnOnce(*mut *mut T, *mut sys::troika_error) -> i32,
) -> Result<Vec<Handle<T>>> {
    let mut raw = vec![null_mut(); count];
    let result = call_quietly(|error| call(raw.as_mut_ptr(), error));
    let handles = raw.into_iter().filter_map(NonNull::new).map(Handle).collect();
    panics::resume();
    result?;
    Ok(handles)
}

/// A call that fills a struct.
pub(crate) fn fill<T: Struct>(
    function: impl FnOnce(*mut T::Raw, *mut sys::troika_error) -> i32,
) -> Result<(T, Status)> {
    let mut raw = T::init();
    let status = call(|error| function(&mut raw, error))?;
    // Safety: the library filled the struct, or left its defaults.
    Ok((unsafe { T::from_raw(&raw) }?, status))
}

/// A call that fills a struct and has no other status than OK.
pub(crate) fn describe<T: Struct>(
    function: impl FnOnce(*mut T::Raw, *mut sys::troika_error) -> i32,
) -> Result<T> {
    Ok(fill(function)?.0)
}

pub(crate) fn step_result(
    function: impl FnOnce(*mut sys::troika_step_result, *mut sys::troika_error) -> i32,
) -> Result<StepResult> {
    let (result, status) = fill(function)?;
    Ok(StepResult { status, ..result })
}

pub(crate) fn metrics(
    function: impl FnOnce(*mut sys::troika_metrics, *mut sys::troika_error) -> i32,
) -> Result<Metrics> {
    let (metrics, status) = fill(function)?;
    Ok(Metrics { status, ..metrics })
}

/// A call that writes a number or a plain value.
pub(crate) fn value<T>(
    initial: T,
    function: impl FnOnce(*mut T, *mut sys::troika_error) -> i32,
) -> Result<T> {
    let mut value = initial;
    call(|error| function(&mut value, error))?;
    Ok(value)
}

/// A call that writes text. None: it was stopped, and wrote nothing.
pub(crate) fn text_unless_stopped(
    mut function: impl FnMut(*mut c_char, i64, *mut i64, *mut sys::troika_error) -> i32,
) -> Result<Option<String>> {
    let mut buffer = vec![0; 1024];
    loop {
        let mut size = 0;
        let capacity = buffer.len() as i64;
        let status =
            call(|error| function(buffer.as_mut_ptr().cast(), capacity, &mut size, error))?;
        if status == Status::Stopped {
            return Ok(None);
        }
        // The text may be longer the next time.
        let size = usize::try_from(size).unwrap_or(0);
        if size <= buffer.len() {
            buffer.truncate(size.saturating_sub(1));
            return Ok(Some(String::from_utf8_lossy(&buffer).into_owned()));
        }
        buffer.resize(size, 0);
    }
}

/// A call that writes text.
pub(crate) fn text(
    function: impl FnMut(*mut c_char, i64, *mut i64, *mut sys::troika_error) -> i32,
) -> Result<String> {
    Ok(text_unless_stopped(function)?.unwrap_or_default())
}

/// # Safety
/// `text` is NULL, or static text of the library.
pub(crate) unsafe fn static_text(text: *const c_char) -> Option<&'static str> {
    NonNull::new(text as *mut c_char)
        .and_then(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().ok())
}

/// An object of the library.
///
/// # Safety
/// `destroy` gives up one hold on the object.
pub(crate) unsafe trait Counted {
    unsafe fn destroy(raw: *mut Self);
}

/// An object that several threads may use at once, as docs/threads.md says.
///
/// # Safety
/// So it is, for all functions of the object that this crate calls with a shared reference.
pub(crate) unsafe trait Shared: Counted {}

/// The caller's hold on an object, which ends on drop.
#[derive(Debug)]
pub(crate) struct Handle<T: Counted>(NonNull<T>);

// Safety: every object may be used from any thread.
unsafe impl<T: Counted> Send for Handle<T> {}
// Safety: so says `Shared`.
unsafe impl<T: Shared> Sync for Handle<T> {}

impl<T: Counted> Handle<T> {
    pub(crate) fn raw(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Counted> Drop for Handle<T> {
    fn drop(&mut self) {
        // Safety: this is the hold that the library returned.
        panics::watch(|| unsafe { T::destroy(self.raw()) });
        // The last hold drops closures of the host.
        if !thread::panicking() {
            panics::resume();
        }
    }
}

macro_rules! counted {
    ($($object:ident: $destroy:ident $(, $shared:ident)?;)*) => {
        $(
            unsafe impl Counted for sys::$object {
                unsafe fn destroy(raw: *mut Self) {
                    unsafe { sys::$destroy(raw) }
                }
            }
            $(unsafe impl $shared for sys::$object {})?
        )*
    };
}

counted! {
    troika_context_s: troika_context_destroy, Shared;
    troika_tensor_s: troika_tensor_destroy, Shared;
    troika_gradients_s: troika_gradients_destroy, Shared;
    troika_dataset_s: troika_dataset_destroy, Shared;
    troika_loader_s: troika_loader_destroy;
    troika_batch_s: troika_batch_destroy, Shared;
    troika_model_s: troika_model_destroy, Shared;
    // A trainer takes one call at a time, but any thread may ask it to stop.
    troika_trainer_s: troika_trainer_destroy, Shared;
    troika_pending_s: troika_pending_destroy, Shared;
    troika_group_s: troika_group_destroy, Shared;
}
