// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

extern "C" {
    /// Writes the contents of a safetensors file as text, one line each: "metadata KEY = VALUE",
    /// then "NAME DTYPE \[d0, d1, ...\]" in the order of the data. The whole header is checked
    /// first. The buffer holds capacity bytes and is always NUL-terminated. If `out_size` is not
    /// NULL, it receives the bytes needed, including the NUL. A buffer that is too small, or NULL
    /// with capacity 0, is no error.
    ///
    /// Errors: NOT_FOUND (no such file), IO, CORRUPT (not the format), INVALID_ARGUMENT (a capacity
    /// below 0). Any thread.
    pub fn troika_file_inspect(
        path: *const c_char,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the path of the newest file that
    /// [`troika_trainer_save_with`](crate::troika_trainer_save_with) kept for path: the one with
    /// the largest step. The rules for the buffer are those of
    /// [`troika_file_inspect`](crate::troika_file_inspect).
    ///
    /// Errors: NOT_FOUND (there is none), IO, INVALID_ARGUMENT (a capacity below 0). Any thread.
    pub fn troika_file_newest(
        path: *const c_char,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;
}
