// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

// Kinds of device.
/// A logical CPU device. CPU devices that are attached together share the context's cores.
pub const TROIKA_DEVICE_CPU: i32 = 1;
/// An NVIDIA GPU.
pub const TROIKA_DEVICE_CUDA: i32 = 2;

/// A device: a value, free to copy. Its text form is cpu:1 or cuda:0. Never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_device {
    /// [`TROIKA_DEVICE_CPU`](crate::TROIKA_DEVICE_CPU) or
    /// [`TROIKA_DEVICE_CUDA`](crate::TROIKA_DEVICE_CUDA).
    pub kind: i32,
    /// From 0.
    pub index: i32,
}

/// Description of a device. Filled by [`troika_device_describe`](crate::troika_device_describe).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_device_info {
    /// Set by the caller to sizeof([`troika_device_info`](crate::troika_device_info)).
    pub struct_size: u32,
    /// CPU: cores that the process may use; GPU: multiprocessors.
    pub cores: i32,
    /// Total memory.
    pub memory_bytes: i64,
    /// Memory that is free now.
    pub free_bytes: i64,
    /// Name of the processor, UTF-8.
    pub name: [c_char; 256],
}

extern "C" {
    /// Fills info as `TROIKA_DEVICE_INFO_INIT` does. Any thread.
    pub fn troika_device_info_init(info: *mut troika_device_info, struct_size: u32);

    /// Returns the number of usable devices of a kind: cpu:0 ... cpu:N-1. A CPU device is logical:
    /// N is at least 8 on any machine. Devices that are attached together divide the context's
    /// thread budget.
    ///
    /// Errors: INVALID_ARGUMENT for an unknown kind. A kind that this machine cannot use has 0
    /// devices, which is no error: [`troika_device_describe`](crate::troika_device_describe) says
    /// why. Any thread.
    pub fn troika_device_count(
        context: troika_context,
        kind: i32,
        out_device_count: *mut i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Describes one device: processor name, memory and free memory in bytes. Errors:
    /// DEVICE_UNAVAILABLE with the reason (what was looked for, where, and what the loader said),
    /// INVALID_ARGUMENT for an unknown kind. Any thread.
    pub fn troika_device_describe(
        context: troika_context,
        device: troika_device,
        out_info: *mut troika_device_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads a device from its text form: cpu, cpu:1, cuda:0. Does not check whether the device
    /// exists.
    ///
    /// Errors: INVALID_ARGUMENT for any other text. Any thread.
    pub fn troika_device_parse(
        text: *const c_char,
        out_device: *mut troika_device,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes a device's text form into the caller's buffer of capacity bytes, always
    /// NUL-terminated. If `out_size` is not NULL, it receives the bytes needed, including the NUL.
    /// A buffer that is too small, or NULL with capacity 0, is no error.
    ///
    /// Errors: INVALID_ARGUMENT for an unknown kind, or a capacity below 0. Any thread.
    pub fn troika_device_format(
        device: troika_device,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns cuda:index if that GPU is usable, else cpu:0: the tutorials' `try_gpu`. Falls back
    /// without an error.
    ///
    /// Errors: INVALID_ARGUMENT for an index below 0. Any thread.
    pub fn troika_device_try(
        context: troika_context,
        index: i32,
        out_device: *mut troika_device,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns every usable GPU, or cpu:0 alone if there is none: the tutorials' `try_all_gpus`.
    /// Fills at most `device_capacity` entries of devices, which may be NULL if `device_capacity`
    /// is 0. `out_device_count` receives the number of devices found.
    ///
    /// Errors: INVALID_ARGUMENT for a `device_capacity` below 0. Any thread.
    pub fn troika_devices_all(
        context: troika_context,
        devices: *mut troika_device,
        device_capacity: i32,
        out_device_count: *mut i32,
        error: *mut troika_error,
    ) -> troika_status;
}
