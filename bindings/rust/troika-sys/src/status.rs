// Written by bindings/generate.py from the C headers; do not edit.

use std::os::raw::c_char;

/// Bytes of [`troika_error`](crate::troika_error).message, its terminating NUL included.
pub const TROIKA_ERROR_MESSAGE_BYTES: i32 = 1020;

// Statuses.
/// Success.
pub const TROIKA_OK: i32 = 0;
/// The loader has returned every batch of this epoch.
pub const TROIKA_END_OF_DATA: i32 = 1;
/// The step changed no parameter on any device; it is counted nevertheless.
pub const TROIKA_STEP_SKIPPED: i32 = 2;
/// A stop was requested, or a callback returned non-zero.
pub const TROIKA_STOPPED: i32 = 3;
/// NULL, an unknown value, a wrong shape, dtype, name or size.
pub const TROIKA_ERROR_INVALID_ARGUMENT: i32 = -1;
/// Host or device memory ran out; nothing was changed.
pub const TROIKA_ERROR_OUT_OF_MEMORY: i32 = -2;
/// No such name, file or device.
pub const TROIKA_ERROR_NOT_FOUND: i32 = -3;
/// The library cannot do this; the message says what it can.
pub const TROIKA_ERROR_UNSUPPORTED: i32 = -4;
/// Another call on the same object is in progress.
pub const TROIKA_ERROR_BUSY: i32 = -5;
/// The operating system refused a read or a write.
pub const TROIKA_ERROR_IO: i32 = -6;
/// A file does not hold what its format demands.
pub const TROIKA_ERROR_CORRUPT: i32 = -7;
/// A parameter has no value yet.
pub const TROIKA_ERROR_NOT_INITIALIZED: i32 = -8;
/// The object is not stored on that device.
pub const TROIKA_ERROR_NOT_ON_DEVICE: i32 = -9;
/// Names or shapes in a file differ from the model's.
pub const TROIKA_ERROR_MISMATCH: i32 = -10;
/// The device exists in no usable form; the message says why.
pub const TROIKA_ERROR_DEVICE_UNAVAILABLE: i32 = -11;
/// Communication between devices failed or missed its deadline.
pub const TROIKA_ERROR_COMM: i32 = -12;
/// The trainer no longer owns its model's parameters.
pub const TROIKA_ERROR_DETACHED: i32 = -13;
/// A defect of the library. Please report it with the message.
pub const TROIKA_ERROR_INTERNAL: i32 = -14;
/// A callback of the host failed; the message is the host's own, if it left one.
pub const TROIKA_ERROR_CALLBACK: i32 = -15;

/// The result of a call: 0 is success, below 0 an error, above 0 information for the caller.
pub type troika_status = i32;

/// Why a call failed. Owned by the caller, who passes its address, or NULL, as the last argument of
/// a call. Success clears it (status 0, empty message); failure always fills it. Nothing in it
/// needs to be freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_error {
    /// The status that the call returned.
    pub status: i32,
    /// One line of UTF-8, NUL-terminated: the object, what was found, what is needed.
    pub message: [c_char; 1020],
}

extern "C" {
    /// Returns the name of a status, such as "[`TROIKA_ERROR_BUSY`](crate::TROIKA_ERROR_BUSY)";
    /// "unknown status" for any other number. Borrowed: static text. Never fails. Any thread.
    pub fn troika_status_name(status: troika_status) -> *const c_char;
}
