//! Contexts.

use crate::call::{create, text, Handle};
use crate::convert::{Input, Number};
use crate::panics::{self, Payload};
use crate::{ContextOptions, Error, LogLevel, Result, Status};
use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use troika_sys as sys;

/// The root object: backends, log, CPU threads, default seed.
///
/// Several contexts may live in one process. All that is made from a context keeps it alive.
/// Any thread may use it at any time.
pub struct Context {
    handle: Handle<sys::troika_context_s>,
    /// A panic of the log on a thread of the library.
    log_panic: Arc<Mutex<Option<Payload>>>,
}

/// The closure that receives log lines.
struct Log<F> {
    write: F,
    panic: Arc<Mutex<Option<Payload>>>,
}

impl Context {
    /// Creates a context without a log.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`] names the option. [`Status::Unsupported`] if the library that
    /// was loaded has another major version, or is older than this crate.
    pub fn new(options: &ContextOptions) -> Result<Self> {
        Self::create(options, |_| {}, Arc::default())
    }

    /// Creates a context whose log lines `log` receives: level, topic ("backend", "comm", "plan",
    /// "memory" or "train") and the line. Without `log_level` these are errors and warnings.
    ///
    /// Threads of the library call `log`, one call at a time. It must not call the library. If it
    /// panics, the call that wrote the line resumes the panic. For a line of the library's own
    /// threads, the next call that takes this context does.
    ///
    /// # Errors
    /// Those of [`Context::new`].
    pub fn with_log<F>(options: &ContextOptions, log: F) -> Result<Self>
    where
        F: FnMut(LogLevel, &str, &str) + Send + 'static,
    {
        let panic = Arc::<Mutex<Option<Payload>>>::default();
        let user = Box::into_raw(Box::new(Log { write: log, panic: panic.clone() }));
        let created = Self::create(
            options,
            |raw| {
                raw.log = Some(write_log::<F>);
                raw.log_user = user.cast();
                raw.log_user_destroy = Some(panics::destroy::<Log<F>>);
            },
            panic,
        );
        if created.is_err() {
            // Safety: the library did not take the closure, because the call failed.
            drop(unsafe { Box::from_raw(user) });
        }
        created
    }

    fn create(
        options: &ContextOptions,
        set_log: impl FnOnce(&mut sys::troika_context_options),
        log_panic: Arc<Mutex<Option<Payload>>>,
    ) -> Result<Self> {
        compare_versions(crate::version())?;
        let handle = options.pass(|options| {
            let mut options = *options;
            set_log(&mut options);
            create(|out, error| unsafe { sys::troika_context_create(&options, out, error) })
        })?;
        Ok(Self { handle, log_panic })
    }

    /// The handle, for a call. Resumes a panic of the log that no call could resume.
    pub(crate) fn raw(&self) -> sys::troika_context {
        let kept = self.log_panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = kept {
            resume_unwind(payload);
        }
        self.handle.raw()
    }

    /// Returns the backends and transports, one line each: name, version, and the versions of
    /// libraries; or why it cannot be used. Loads those that are not loaded yet.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`].
    pub fn describe_backends(&self) -> Result<String> {
        let raw = self.raw();
        text(|buffer, capacity, size, error| unsafe {
            sys::troika_context_describe_backends(raw, buffer, capacity, size, error)
        })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.handle).finish()
    }
}

/// The library must have the major version of this crate, and at least its minor version.
fn compare_versions(found: i32) -> Result<()> {
    let (major, minor) = (sys::TROIKA_VERSION_MAJOR, sys::TROIKA_VERSION_MINOR);
    if found / 10000 == major && found / 100 % 100 >= minor {
        return Ok(());
    }
    let found = format!("{}.{}.{}", found / 10000, found / 100 % 100, found % 100);
    let message =
        format!("libtroika: found version {found}, need {major}.{minor} or a later {major}.x");
    Err(Error::new(Status::Unsupported, message))
}

unsafe extern "C" fn write_log<F: FnMut(LogLevel, &str, &str)>(
    level: i32,
    topic: *const c_char,
    line: *const c_char,
    user: *mut c_void,
) {
    // Safety: `user` is the closure, and the library makes one call at a time.
    let log = unsafe { &mut *user.cast::<Log<F>>() };
    let text = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let level = LogLevel::from_raw(level).unwrap_or(LogLevel::Debug);
    let Log { write, panic } = log;
    panics::guard(
        || write(level, &text(topic), &text(line)),
        |payload| {
            let mut kept = panic.lock().unwrap_or_else(PoisonError::into_inner);
            // To drop the payload of an earlier panic may panic.
            std::mem::forget(kept.replace(payload));
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::thread;

    #[test]
    fn versions_are_compared() {
        assert!(compare_versions(10100).is_ok() && compare_versions(10299).is_ok());
        let error = compare_versions(20100).unwrap_err();
        assert_eq!(error.status(), Status::Unsupported);
        let message = "libtroika: found version 2.1.0, need 1.1 or a later 1.x";
        assert_eq!(error.message(), message);
        assert!(compare_versions(10099).is_err());
    }

    /// The library logs from its own threads, too; then the context's next call resumes the panic.
    #[test]
    fn a_log_that_panics_on_another_thread() {
        fn write<F: FnMut(LogLevel, &str, &str) + Send>(mut log: Log<F>) {
            let line = "line\0".as_ptr().cast();
            let user: *mut Log<F> = &mut log;
            unsafe { write_log::<F>(sys::TROIKA_LOG_INFO, line, line, user.cast()) };
        }
        let context = Context::new(&Default::default()).unwrap();
        let panic = context.log_panic.clone();
        let fail = |level, topic: &str, line: &str| {
            assert_eq!((level, topic, line), (LogLevel::Info, "line", "line"));
            resume_unwind(Box::new(7));
        };
        thread::spawn(move || write(Log { write: fail, panic })).join().unwrap();
        let payload = catch_unwind(AssertUnwindSafe(|| context.describe_backends())).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&7));
        assert!(context.describe_backends().is_ok());
    }
}
