// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

// Relations of troika_tensor_compare.
/// a == b
pub const TROIKA_RELATION_EQUAL: i32 = 1;
/// a != b; the only relation that holds with NaN
pub const TROIKA_RELATION_NOT_EQUAL: i32 = 2;
/// a \< b
pub const TROIKA_RELATION_LESS: i32 = 3;
/// a \<= b
pub const TROIKA_RELATION_LESS_OR_EQUAL: i32 = 4;
/// a \> b
pub const TROIKA_RELATION_GREATER: i32 = 5;
/// a \>= b
pub const TROIKA_RELATION_GREATER_OR_EQUAL: i32 = 6;

extern "C" {
    /// Creates a tensor whose numbers are all value. Zeros are also made by
    /// [`troika_tensor_create`](crate::troika_tensor_create).
    ///
    /// Owned: destroy \*`out_tensor`. Errors: INVALID_ARGUMENT (kind of device, dtype, rank or a
    /// dimension), UNSUPPORTED (a dtype without arithmetic), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any
    /// thread.
    pub fn troika_tensor_full(
        context: troika_context,
        device: troika_device,
        dtype: i32,
        dims: *const i64,
        rank: i32,
        value: f64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor \[count\] with the numbers start, start + step, start + 2 step ... Owned,
    /// errors and threads: those of [`troika_tensor_full`](crate::troika_tensor_full);
    /// INVALID_ARGUMENT also for count below 0.
    pub fn troika_tensor_arange(
        context: troika_context,
        device: troika_device,
        dtype: i32,
        start: f64,
        step: f64,
        count: i64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor of numbers that are uniform in \[low, high). Number i is a function of seed
    /// and i (Philox4x32-10, Salmon et al. 2011), so every device makes the same numbers.
    ///
    /// Owned, errors and threads: those of [`troika_tensor_full`](crate::troika_tensor_full);
    /// INVALID_ARGUMENT also for bounds that are not finite or in the wrong order.
    pub fn troika_tensor_uniform(
        context: troika_context,
        device: troika_device,
        dtype: i32,
        dims: *const i64,
        rank: i32,
        low: f64,
        high: f64,
        seed: u64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor of normally distributed numbers (Box and Muller 1958). Number i is a
    /// function of seed and i, so every device makes the same numbers.
    ///
    /// Owned, errors and threads: those of [`troika_tensor_full`](crate::troika_tensor_full);
    /// INVALID_ARGUMENT also for a mean or a deviation that is not finite, and for a deviation
    /// below 0.
    pub fn troika_tensor_normal(
        context: troika_context,
        device: troika_device,
        dtype: i32,
        dims: *const i64,
        rank: i32,
        mean: f64,
        deviation: f64,
        seed: u64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// a + b. Result, errors and threads: those of all operations.
    pub fn troika_tensor_add(
        a: troika_tensor,
        b: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// a - b. Result, errors and threads: those of all operations.
    pub fn troika_tensor_subtract(
        a: troika_tensor,
        b: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// a b, number by number. Result, errors and threads: those of all operations.
    pub fn troika_tensor_multiply(
        a: troika_tensor,
        b: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// a / b. Result, errors and threads: those of all operations.
    pub fn troika_tensor_divide(
        a: troika_tensor,
        b: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns a tensor of u8: 1 if the relation
    /// ([`TROIKA_RELATION_LESS`](crate::TROIKA_RELATION_LESS) and so on) holds, else 0. Not
    /// recorded. Result, errors and threads: those of all operations; INVALID_ARGUMENT for another
    /// relation.
    pub fn troika_tensor_compare(
        a: troika_tensor,
        b: troika_tensor,
        relation: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// factor x + offset. Result, errors and threads: those of all operations.
    pub fn troika_tensor_scale(
        x: troika_tensor,
        factor: f64,
        offset: f64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// max(x, 0); NaN stays NaN. Result, errors and threads: those of all operations.
    pub fn troika_tensor_relu(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// 1 / (1 + e^-x). Result, errors and threads: those of all operations.
    pub fn troika_tensor_sigmoid(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The hyperbolic tangent. Result, errors and threads: those of all operations.
    pub fn troika_tensor_tanh(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// GELU, as [`troika_model_add_gelu`](crate::troika_model_add_gelu). Result, errors and
    /// threads: those of all operations.
    pub fn troika_tensor_gelu(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// x times the sigmoid of x. Result, errors and threads: those of all operations.
    pub fn troika_tensor_silu(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// x if x \> 0, else slope x. Result, errors and threads: those of all operations.
    pub fn troika_tensor_leaky_relu(
        x: troika_tensor,
        slope: f64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// |x|. Result, errors and threads: those of all operations.
    pub fn troika_tensor_abs(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// e^x. Result, errors and threads: those of all operations.
    pub fn troika_tensor_exp(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The natural logarithm. Result, errors and threads: those of all operations.
    pub fn troika_tensor_log(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The square root. Result, errors and threads: those of all operations.
    pub fn troika_tensor_sqrt(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The same numbers as f32, bf16, f16, i32, i64 or u8. Numbers are rounded to nearest even, and
    /// for integers towards 0. A number that an integer type does not hold becomes the nearest one;
    /// NaN becomes 0. Only casts between f32, bf16 and f16 have a gradient.
    ///
    /// Result and threads: those of all operations. Errors: UNSUPPORTED for another type.
    pub fn troika_tensor_cast(
        x: troika_tensor,
        dtype: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sets tensor = tensor + factor other, in the memory of tensor: an update by a gradient has
    /// the factor -`learning_rate`. other may be smaller, as b in
    /// [`troika_tensor_add`](crate::troika_tensor_add).
    ///
    /// Errors: those of all operations. Threads: writes tensor, reads other.
    pub fn troika_tensor_add_in_place(
        tensor: troika_tensor,
        other: troika_tensor,
        factor: f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sets tensor = factor tensor + offset, in its own memory. Errors: those of all operations.
    /// Threads: writes tensor.
    pub fn troika_tensor_scale_in_place(
        tensor: troika_tensor,
        factor: f64,
        offset: f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Multiplies matrices: a \[..., m, k\] by b \[..., k, n\] to \[..., m, n\]. b may be one
    /// matrix \[k, n\] for all of a. With `transpose_a` 1, a is stored as \[..., k, m\]; with
    /// `transpose_b` 1, b is stored as \[..., n, k\].
    ///
    /// Result, errors and threads: those of all operations.
    pub fn troika_tensor_matmul(
        a: troika_tensor,
        b: troika_tensor,
        transpose_a: i32,
        transpose_b: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Convolves images \[batch, C, H, W\] with a weight \[K, C / groups, `kernel_h`, `kernel_w`\],
    /// as [`troika_model_add_conv2d`](crate::troika_model_add_conv2d) does; bias \[K\] may be NULL.
    /// options may be NULL. Only stride, padding, dilation and groups are read: the rest follows
    /// from the weight.
    ///
    /// Result, errors and threads: those of all operations. The bias is f32 with any type.
    pub fn troika_tensor_conv2d(
        x: troika_tensor,
        weight: troika_tensor,
        bias: troika_tensor,
        options: *const troika_conv2d_options,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The largest number of each window, as
    /// [`troika_model_add_max_pool2d`](crate::troika_model_add_max_pool2d). Result, errors and
    /// threads: those of all operations.
    pub fn troika_tensor_max_pool2d(
        x: troika_tensor,
        options: *const troika_pool2d_options,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The mean of each window, as
    /// [`troika_model_add_avg_pool2d`](crate::troika_model_add_avg_pool2d). Result, errors and
    /// threads: those of all operations.
    pub fn troika_tensor_avg_pool2d(
        x: troika_tensor,
        options: *const troika_pool2d_options,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Shows the elements of x, row-major, under another shape. The result shares the memory of x.
    /// One size may be -1: it follows from the others. Any element type.
    ///
    /// Result and threads: those of all operations. Errors: INVALID_ARGUMENT if the number of
    /// elements differs.
    pub fn troika_tensor_reshape(
        x: troika_tensor,
        dims: *const i64,
        rank: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Axis i of the result is axis order\[i\] of x; order has as many numbers as x has axes. NULL:
    /// the axes in reverse. Result, errors and threads: those of all operations.
    pub fn troika_tensor_transpose(
        x: troika_tensor,
        order: *const i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The part \[begin, end) of x along axis, as a copy. Result, errors and threads: those of all
    /// operations.
    pub fn troika_tensor_slice(
        x: troika_tensor,
        axis: i32,
        begin: i64,
        end: i64,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Joins tensors along axis, in the order of the list. They may differ in the size of that axis
    /// alone. Result, errors and threads: those of all operations.
    pub fn troika_tensor_concat(
        tensors: *const troika_tensor,
        tensor_count: i32,
        axis: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Repeats x until it has the shape dims: an axis of size 1, or a missing one at the front, is
    /// repeated. Result, errors and threads: those of all operations.
    pub fn troika_tensor_expand(
        x: troika_tensor,
        dims: *const i64,
        rank: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The sums over some axes. axes NULL: over all. `keep_axes` 1 keeps them with the size 1.
    ///
    /// Result, errors and threads: those of all operations.
    pub fn troika_tensor_sum(
        x: troika_tensor,
        axes: *const i32,
        axis_count: i32,
        keep_axes: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The means over some axes, as [`troika_tensor_sum`](crate::troika_tensor_sum), with its
    /// errors and threads.
    pub fn troika_tensor_mean(
        x: troika_tensor,
        axes: *const i32,
        axis_count: i32,
        keep_axes: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The root of the sum of all squares: the Frobenius norm of a matrix. Result, errors and
    /// threads: those of all operations.
    pub fn troika_tensor_norm(
        x: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// e^x over the sum of e^x along axis. Result, errors and threads: those of all operations.
    pub fn troika_tensor_softmax(
        x: troika_tensor,
        axis: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The places of the largest numbers along axis, as i64 without that axis. The first of equal
    /// numbers counts; NaN counts as the largest. Not recorded. Result, errors and threads: those
    /// of all operations.
    pub fn troika_tensor_argmax(
        x: troika_tensor,
        axis: i32,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// The cross-entropy of each label, f32: of logits x \[batch, classes\], \[batch, steps,
    /// classes\] or \[batch, classes, H, W\], and labels of that shape without its classes, of i32,
    /// i64 or u8. Result, errors and threads: those of all operations. The loss of a label that is
    /// no class is NaN.
    pub fn troika_tensor_cross_entropy(
        x: troika_tensor,
        labels: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes a tensor as text: type, shape and device, then its numbers, in brackets per axis. A
    /// tensor of more than 1,000 numbers shows the first and the last 3 of each axis that has more
    /// than 6.
    ///
    /// buffer of capacity bytes gets as much as fits, with a NUL; \*`out_size` (may be NULL) the
    /// bytes that the whole text needs, with its NUL. Errors: INVALID_ARGUMENT for a NULL buffer
    /// with a capacity. Threads: reads the tensor.
    pub fn troika_tensor_to_text(
        tensor: troika_tensor,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Waits until all operations on a device that were called before have ended. Errors:
    /// INVALID_ARGUMENT (kind of device), DEVICE_UNAVAILABLE; COMM and others that an operation on
    /// a GPU ended with. Any thread.
    pub fn troika_device_synchronize(
        context: troika_context,
        device: troika_device,
        error: *mut troika_error,
    ) -> troika_status;
}
