// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_void;

/// Largest rank of a tensor.
pub const TROIKA_MAX_RANK: i32 = 8;

// Element types.
/// IEEE 754 single precision.
pub const TROIKA_DTYPE_F32: i32 = 1;
/// IEEE 754 double precision.
pub const TROIKA_DTYPE_F64: i32 = 2;
/// Signed 32-bit integer.
pub const TROIKA_DTYPE_I32: i32 = 3;
/// Signed 64-bit integer.
pub const TROIKA_DTYPE_I64: i32 = 4;
/// Unsigned 8-bit integer.
pub const TROIKA_DTYPE_U8: i32 = 5;
/// bfloat16: 8 bits of exponent, 7 of fraction.
pub const TROIKA_DTYPE_BF16: i32 = 6;
/// IEEE 754 half precision.
pub const TROIKA_DTYPE_F16: i32 = 7;
/// Signed 8-bit integer.
pub const TROIKA_DTYPE_I8: i32 = 8;
/// Signed 16-bit integer.
pub const TROIKA_DTYPE_I16: i32 = 9;
/// One byte, 0 or 1.
pub const TROIKA_DTYPE_BOOL: i32 = 10;
/// 8 bits: 4 of exponent, 3 of fraction, no infinity.
pub const TROIKA_DTYPE_F8_E4M3: i32 = 11;
/// 8 bits: 5 of exponent, 2 of fraction.
pub const TROIKA_DTYPE_F8_E5M2: i32 = 12;

/// The object that [`troika_tensor`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_tensor_s {
    _private: [u8; 0],
}

/// An n-dimensional array on one device, dense and row-major. Counted.
pub type troika_tensor = *mut troika_tensor_s;

/// The struct DLManagedTensor of DLPack.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    _private: [u8; 0],
}

/// The struct DLManagedTensorVersioned of DLPack.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    _private: [u8; 0],
}

/// Description of a tensor. Filled by [`troika_tensor_describe`](crate::troika_tensor_describe).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_tensor_info {
    /// Set by the caller to sizeof([`troika_tensor_info`](crate::troika_tensor_info)).
    pub struct_size: u32,
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32) and so on.
    pub dtype: i32,
    /// Number of dimensions, 0 to [`TROIKA_MAX_RANK`](crate::TROIKA_MAX_RANK).
    pub rank: i32,
    /// The device that stores it.
    pub device: troika_device,
    /// 0.
    pub reserved: i32,
    /// Sizes; 0 beyond rank.
    pub dims: [i64; 8],
    /// Bytes of all elements.
    pub size_bytes: i64,
}

extern "C" {
    /// Creates a tensor of rank dimensions dims on device. data holds the elements, row-major, in
    /// host memory, and is copied; NULL fills with zeros. Rank 0 is a scalar; a dimension may be 0.
    ///
    /// Owned: destroy \*`out_tensor` with [`troika_tensor_destroy`](crate::troika_tensor_destroy).
    /// Errors: INVALID_ARGUMENT (kind of device, dtype, rank or a dimension), DEVICE_UNAVAILABLE,
    /// OUT_OF_MEMORY. Any thread.
    pub fn troika_tensor_create(
        context: troika_context,
        device: troika_device,
        dtype: i32,
        dims: *const i64,
        rank: i32,
        data: *const c_void,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a tensor. NULL is ignored. Never fails. Any thread, but not
    /// while another is inside a call with the same handle.
    pub fn troika_tensor_destroy(tensor: troika_tensor);

    /// Fills info as `TROIKA_TENSOR_INFO_INIT` does. Any thread.
    pub fn troika_tensor_info_init(info: *mut troika_tensor_info, struct_size: u32);

    /// Describes a tensor without reading its values. Errors: INVALID_ARGUMENT (`struct_size`). Any
    /// thread.
    pub fn troika_tensor_describe(
        tensor: troika_tensor,
        out_info: *mut troika_tensor_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies the elements, row-major, into data in host memory, `size_bytes` long. Errors:
    /// INVALID_ARGUMENT if `size_bytes` is not the tensor's size. Threads: reads the tensor.
    pub fn troika_tensor_to_host(
        tensor: troika_tensor,
        data: *mut c_void,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies data, row-major in host memory, `size_bytes` long, into the tensor. Errors:
    /// INVALID_ARGUMENT if `size_bytes` is not the tensor's size. Threads: writes the tensor.
    pub fn troika_tensor_from_host(
        tensor: troika_tensor,
        data: *const c_void,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies the elements of source into destination, from device to device; shape and dtype must
    /// agree. Errors: INVALID_ARGUMENT if they differ, OUT_OF_MEMORY. Threads: reads source, writes
    /// destination.
    pub fn troika_tensor_copy(
        source: troika_tensor,
        destination: troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns a new tensor with the same elements on device: always a copy, even if the tensor is
    /// already there. Owned: destroy \*`out_tensor`. Errors: INVALID_ARGUMENT (kind of device),
    /// DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Threads: reads the tensor.
    pub fn troika_tensor_to(
        tensor: troika_tensor,
        device: troika_device,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Cuts a tensor along dimension 0 into `device_count` pieces, in order, and puts piece i on
    /// devices\[i\]. The sizes of pieces differ by at most one, the larger pieces first: 10 rows on
    /// 4 devices are cut into 3, 3, 2 and 2. Pieces may be empty.
    ///
    /// Owned: destroy each of `out_tensors`\[0 .. `device_count`-1\]; on an error all are NULL.
    /// Errors: INVALID_ARGUMENT (rank 0, `device_count` below 1, kind of device),
    /// DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Threads: reads the tensor.
    pub fn troika_tensor_scatter(
        tensor: troika_tensor,
        devices: *const troika_device,
        device_count: i32,
        out_tensors: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sums `tensor_count` tensors of one shape and dtype element by element, in the order of the
    /// list, and puts the sum into each. The result has the same bits on every device. f32, f64,
    /// bf16, f16, i32, i64 and u8; sums of 16-bit numbers are rounded once, and integers wrap
    /// around.
    ///
    /// Errors: INVALID_ARGUMENT (shapes or dtypes differ, the same tensor twice, `tensor_count`
    /// below 1), UNSUPPORTED (other dtypes), OUT_OF_MEMORY. Threads: writes every tensor of the
    /// list.
    pub fn troika_tensor_all_reduce(
        tensors: *const troika_tensor,
        tensor_count: i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Exports a tensor to DLPack (version 0.8 layout) without a copy. Owned: whoever takes
    /// \*`out_managed` calls its deleter once, from any thread. The memory stays valid until then,
    /// even after [`troika_tensor_destroy`](crate::troika_tensor_destroy). Errors: OUT_OF_MEMORY.
    /// Threads: reads the tensor; if the consumer reads or writes the memory, that counts as
    /// reading or writing the tensor.
    pub fn troika_tensor_to_dlpack(
        tensor: troika_tensor,
        out_managed: *mut *mut DLManagedTensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Exports a tensor as [`troika_tensor_to_dlpack`](crate::troika_tensor_to_dlpack) does, in the
    /// layout of DLPack 1.0, which says its own version. Owned, errors and threads: those of
    /// [`troika_tensor_to_dlpack`](crate::troika_tensor_to_dlpack).
    pub fn troika_tensor_to_dlpack_versioned(
        tensor: troika_tensor,
        out_managed: *mut *mut DLManagedTensorVersioned,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor from another library's DLPack struct without a copy. Memory that is not
    /// aligned to its type is copied, and the deleter is called at once. On success the tensor owns
    /// managed and calls its deleter when the last hold on it ends; on failure the caller still
    /// owns it.
    ///
    /// Owned: destroy \*`out_tensor`. Errors: INVALID_ARGUMENT (rank, a dimension, no memory),
    /// UNSUPPORTED (strides that are not row-major, an unknown dtype, a device that is neither CPU
    /// nor CUDA), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any thread. Memory of a GPU must be ready for
    /// any stream: the call does not wait for work that the producer has in flight.
    pub fn troika_tensor_from_dlpack(
        context: troika_context,
        managed: *mut DLManagedTensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor as [`troika_tensor_from_dlpack`](crate::troika_tensor_from_dlpack) does,
    /// from a struct of DLPack 1.x. Memory that is marked as read-only is copied.
    ///
    /// Owned, errors and threads: those of
    /// [`troika_tensor_from_dlpack`](crate::troika_tensor_from_dlpack); UNSUPPORTED also for
    /// another major version than 1.
    pub fn troika_tensor_from_dlpack_versioned(
        context: troika_context,
        managed: *mut DLManagedTensorVersioned,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;
}
