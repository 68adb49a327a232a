// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::{c_char, c_void};

// Levels of log lines.
pub const TROIKA_LOG_ERROR: i32 = 1;
pub const TROIKA_LOG_WARNING: i32 = 2;
pub const TROIKA_LOG_INFO: i32 = 3;
pub const TROIKA_LOG_DEBUG: i32 = 4;

/// The object that [`troika_context`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_context_s {
    _private: [u8; 0],
}

/// The root object. There is no other global state, so several contexts live in one process.
/// Counted: models, trainers, tensors, datasets and loaders keep their context alive, so handles
/// may be destroyed in any order.
pub type troika_context = *mut troika_context_s;

/// A log sink. topic is what the line is about: "backend", "comm", "plan", "memory" or "train".
/// line is UTF-8 without a line break. Both are borrowed for the call. May be called from any
/// thread of the library, one call at a time. It must not call the library.
pub type troika_log_function = Option<
    unsafe extern "C" fn(level: i32, topic: *const c_char, line: *const c_char, user: *mut c_void),
>;

/// Options of a context. Begin with `TROIKA_CONTEXT_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_context_options {
    /// sizeof([`troika_context_options`](crate::troika_context_options)).
    pub struct_size: u32,
    /// CPU threads for all CPU devices together: at least 1, at most 8 for each core of the
    /// process, or 64 if that is more; unset: one for each core. If it is unset, trainers with a
    /// group divide the cores of a machine: each process takes an equal share.
    pub cpu_threads: i32,
    /// Seed of parameter initialisation and of dropout, unless the caller names another.
    pub seed: u64,
    /// Receives the log lines; NULL: no log.
    pub log: troika_log_function,
    /// Passed to log. Must live until `log_user_destroy` is called with it.
    pub log_user: *mut c_void,
    /// The most detailed level that reaches log; unset:
    /// [`TROIKA_LOG_WARNING`](crate::TROIKA_LOG_WARNING).
    pub log_level: i32,
    /// 1: environment variables of the library hold for fields that are not set: `TROIKA_LOG`,
    /// `TROIKA_BACKEND_DIR`, `TROIKA_CACHE_DIR`, `TROIKA_OWN_KERNELS`, `TROIKA_LEAVE_OUT` and
    /// `TROIKA_DUMP` (docs/threads.md). 0 (default): none of them is read.
    pub use_environment: i32,
    /// Called with `log_user` after the last log line, when the context and all that was made from
    /// it are destroyed. If [`troika_context_create`](crate::troika_context_create) fails, it is
    /// not called. NULL: no call.
    pub log_user_destroy: troika_destroy_function,
    /// The backends that the context may use, separated by commas: "cpu", "cuda". NULL (default):
    /// all. A backend is loaded when one of its devices is first asked for.
    pub backends: *const c_char,
    /// Levels of single topics, separated by commas: "plan=debug,comm=error". `log_level` holds for
    /// the others. NULL (default): for all.
    pub log_topics: *const c_char,
    /// An absolute path of a folder in which plug-ins are looked for first. NULL (default): none.
    pub backend_folder: *const c_char,
    /// An absolute path of the folder in which the library stores measurements, such as the fastest
    /// engines of a GPU. NULL (default): troika in XDG_CACHE_HOME or in the user's .cache. "": none
    /// are stored.
    pub cache_folder: *const c_char,
    /// CPU threads of one prediction of [`troika_model_predict`](crate::troika_model_predict): 1 to
    /// `cpu_threads`. The bits of a result may depend on the number, and never on what else runs.
    /// Unset: one thread for each 500 million operations. A server with many callers sets 1
    /// (docs/serving.md).
    pub predict_threads: i32,
    /// 0.
    pub reserved: i32,
}

extern "C" {
    /// Fills options as `TROIKA_CONTEXT_OPTIONS_INIT` does, for callers that cannot use macros.
    /// NULL is ignored. Any thread.
    pub fn troika_context_options_init(options: *mut troika_context_options, struct_size: u32);

    /// Creates a context. options may be NULL: defaults.
    ///
    /// Owned: destroy \*`out_context` with
    /// [`troika_context_destroy`](crate::troika_context_destroy). Errors: INVALID_ARGUMENT (the
    /// message names the field), OUT_OF_MEMORY. Any thread.
    pub fn troika_context_create(
        options: *const troika_context_options,
        out_context: *mut troika_context,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the backends that the context may use, and the transports between processes, one line
    /// each: name, version, the commit that it was built from, and the versions of its libraries;
    /// or why it cannot be used. Loads those that are not loaded yet. The rules for the buffer are
    /// those of [`troika_model_print`](crate::troika_model_print).
    ///
    /// Errors: INVALID_ARGUMENT (a capacity below 0), OUT_OF_MEMORY. Any thread.
    pub fn troika_context_describe_backends(
        context: troika_context,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a context, whose handle must not be used again. NULL is
    /// ignored. Never fails. Any thread, but not while another is inside a call with the same
    /// handle.
    pub fn troika_context_destroy(context: troika_context);
}
