// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;

/// The object that [`troika_gradients`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_gradients_s {
    _private: [u8; 0],
}

/// A record of operations. It holds the tensors that it has recorded until it is destroyed.
pub type troika_gradients = *mut troika_gradients_s;

extern "C" {
    /// Creates an empty record. Owned: destroy \*`out_gradients` with
    /// [`troika_gradients_destroy`](crate::troika_gradients_destroy). Errors: INVALID_ARGUMENT. Any
    /// thread.
    pub fn troika_gradients_create(
        context: troika_context,
        out_gradients: *mut troika_gradients,
        error: *mut troika_error,
    ) -> troika_status;

    /// Ends the recording and frees what is held. NULL is ignored. Never fails. Any thread.
    pub fn troika_gradients_destroy(gradients: troika_gradients);

    /// Records the operations that read tensor from now on. Until the record is destroyed, calls
    /// that would change the tensor return INVALID_ARGUMENT. Do not change its memory by other
    /// ways, such as a result of [`troika_tensor_reshape`](crate::troika_tensor_reshape).
    ///
    /// Errors: INVALID_ARGUMENT if another record watches the tensor, or if the tensor is not f32,
    /// bf16 or f16. Threads: writes the tensor.
    pub fn troika_gradients_watch(
        gradients: troika_gradients,
        tensor: troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Computes the gradients of number, a tensor of one element that operations of this record
    /// have made, for each of tensors. `out_tensors`\[i\] has the type, the shape and the device of
    /// tensors\[i\]. May be called several times.
    ///
    /// Owned: destroy each of `out_tensors`\[0 .. `tensor_count`-1\]; on an error all are NULL.
    /// Errors: INVALID_ARGUMENT if the number or a tensor is not of this record, if there are
    /// several elements, or if the number does not depend on a tensor; UNSUPPORTED for an operation
    /// without a gradient; OUT_OF_MEMORY. Threads: reads the tensors.
    pub fn troika_gradients_compute(
        gradients: troika_gradients,
        number: troika_tensor,
        tensors: *const troika_tensor,
        tensor_count: i32,
        out_tensors: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;
}
