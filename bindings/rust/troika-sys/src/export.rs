// Written by bindings/generate.py from the C headers; do not edit.

use std::os::raw::{c_char, c_void};

/// Version of the headers. [`troika_version`](crate::troika_version) returns the version of the
/// library.
pub const TROIKA_VERSION_MAJOR: i32 = 1;

/// As [`TROIKA_VERSION_MAJOR`](crate::TROIKA_VERSION_MAJOR).
pub const TROIKA_VERSION_MINOR: i32 = 1;

/// As [`TROIKA_VERSION_MAJOR`](crate::TROIKA_VERSION_MAJOR).
pub const TROIKA_VERSION_PATCH: i32 = 0;

/// The version of the headers as one number, for #if: 10000 is 1.0.0, 10203 is 1.2.3.
pub const TROIKA_VERSION: i32 = 10100;

/// "Not set" for an integer field of an option struct: the library takes its default.
pub const TROIKA_UNSET: i32 = -2147483648;

/// Called once with user when the library no longer needs user. NULL in place of the function: no
/// call. The function must not call the library. May be called from any thread.
pub type troika_destroy_function = Option<unsafe extern "C" fn(user: *mut c_void)>;

extern "C" {
    /// Returns the version of the library that is loaded, as
    /// [`TROIKA_VERSION`](crate::TROIKA_VERSION) counts. Never fails. Any thread.
    pub fn troika_version() -> i32;

    /// Returns one line that says how the library was built: version, commit, compiler, versions of
    /// oneDNN and zlib.
    /// [`troika_context_describe_backends`](crate::troika_context_describe_backends) describes
    /// plug-ins. Borrowed: static text, valid as long as the library is loaded. Never fails. Any
    /// thread.
    pub fn troika_build_info() -> *const c_char;
}
