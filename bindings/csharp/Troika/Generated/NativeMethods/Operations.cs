// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Creates a tensor whose numbers are all value. Zeros are also made by
        /// troika_tensor_create.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_tensor. Errors: INVALID_ARGUMENT (kind of device, dtype, rank
        /// or a dimension), UNSUPPORTED (a dtype without arithmetic), DEVICE_UNAVAILABLE,
        /// OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_full(
            ContextHandle context, Device device, int dtype, long[] dims, int rank, double value,
            out TensorHandle out_tensor, out troika_error error);

        /// <summary>Creates a tensor [count] with the numbers start, start + step, start + 2 step
        /// ... Owned, errors and threads: those of troika_tensor_full; INVALID_ARGUMENT also for
        /// count below 0.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_arange(
            ContextHandle context, Device device, int dtype, double start, double step, long count,
            out TensorHandle out_tensor, out troika_error error);

        /// <summary>Creates a tensor of numbers that are uniform in [low, high). Number i is a
        /// function of seed and i (Philox4x32-10, Salmon et al. 2011), so every device makes the
        /// same numbers.</summary>
        /// <remarks>
        /// <para>Owned, errors and threads: those of troika_tensor_full; INVALID_ARGUMENT also for
        /// bounds that are not finite or in the wrong order.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_uniform(
            ContextHandle context, Device device, int dtype, long[] dims, int rank, double low,
            double high, ulong seed, out TensorHandle out_tensor, out troika_error error);

        /// <summary>Creates a tensor of normally distributed numbers (Box and Muller 1958). Number
        /// i is a function of seed and i, so every device makes the same numbers.</summary>
        /// <remarks>
        /// <para>Owned, errors and threads: those of troika_tensor_full; INVALID_ARGUMENT also for
        /// a mean or a deviation that is not finite, and for a deviation below 0.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_normal(
            ContextHandle context, Device device, int dtype, long[] dims, int rank, double mean,
            double deviation, ulong seed, out TensorHandle out_tensor, out troika_error error);

        /// <summary>a + b. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_add(
            TensorHandle a, TensorHandle b, out TensorHandle out_tensor, out troika_error error);

        /// <summary>a - b. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_subtract(
            TensorHandle a, TensorHandle b, out TensorHandle out_tensor, out troika_error error);

        /// <summary>a b, number by number. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_multiply(
            TensorHandle a, TensorHandle b, out TensorHandle out_tensor, out troika_error error);

        /// <summary>a / b. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_divide(
            TensorHandle a, TensorHandle b, out TensorHandle out_tensor, out troika_error error);

        /// <summary>Returns a tensor of u8: 1 if the relation (TROIKA_RELATION_LESS and so on)
        /// holds, else 0. Not recorded. Result, errors and threads: those of all operations;
        /// INVALID_ARGUMENT for another relation.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_compare(
            TensorHandle a, TensorHandle b, int relation, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>factor x + offset. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_scale(
            TensorHandle x, double factor, double offset, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>max(x, 0); NaN stays NaN. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_relu(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>1 / (1 + e^-x). Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_sigmoid(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The hyperbolic tangent. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_tanh(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>GELU, as troika_model_add_gelu. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_gelu(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>x times the sigmoid of x. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_silu(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>x if x &gt; 0, else slope x. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_leaky_relu(
            TensorHandle x, double slope, out TensorHandle out_tensor, out troika_error error);

        /// <summary>|x|. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_abs(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>e^x. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_exp(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The natural logarithm. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_log(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The square root. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_sqrt(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The same numbers as f32, bf16, f16, i32, i64 or u8. Numbers are rounded to
        /// nearest even, and for integers towards 0. A number that an integer type does not hold
        /// becomes the nearest one; NaN becomes 0. Only casts between f32, bf16 and f16 have a
        /// gradient.</summary>
        /// <remarks>
        /// <para>Result and threads: those of all operations. Errors: UNSUPPORTED for another
        /// type.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_cast(
            TensorHandle x, int dtype, out TensorHandle out_tensor, out troika_error error);

        /// <summary>Sets tensor = tensor + factor other, in the memory of tensor: an update by a
        /// gradient has the factor -learning_rate. other may be smaller, as b in
        /// troika_tensor_add.</summary>
        /// <remarks>
        /// <para>Errors: those of all operations. Threads: writes tensor, reads other.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_add_in_place(
            TensorHandle tensor, TensorHandle other, double factor, out troika_error error);

        /// <summary>Sets tensor = factor tensor + offset, in its own memory. Errors: those of all
        /// operations. Threads: writes tensor.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_scale_in_place(
            TensorHandle tensor, double factor, double offset, out troika_error error);

        /// <summary>Multiplies matrices: a [..., m, k] by b [..., k, n] to [..., m, n]. b may be
        /// one matrix [k, n] for all of a. With transpose_a 1, a is stored as [..., k, m]; with
        /// transpose_b 1, b is stored as [..., n, k].</summary>
        /// <remarks>
        /// <para>Result, errors and threads: those of all operations.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_matmul(
            TensorHandle a, TensorHandle b, int transpose_a, int transpose_b,
            out TensorHandle out_tensor, out troika_error error);

        /// <summary>Convolves images [batch, C, H, W] with a weight [K, C / groups, kernel_h,
        /// kernel_w], as troika_model_add_conv2d does; bias [K] may be NULL. options may be NULL.
        /// Only stride, padding, dilation and groups are read: the rest follows from the
        /// weight.</summary>
        /// <remarks>
        /// <para>Result, errors and threads: those of all operations. The bias is f32 with any
        /// type.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_conv2d(
            TensorHandle x, TensorHandle weight, TensorHandle bias, troika_conv2d_options* options,
            out TensorHandle out_tensor, out troika_error error);

        /// <summary>The largest number of each window, as troika_model_add_max_pool2d. Result,
        /// errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_max_pool2d(
            TensorHandle x, troika_pool2d_options* options, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>The mean of each window, as troika_model_add_avg_pool2d. Result, errors and
        /// threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_avg_pool2d(
            TensorHandle x, troika_pool2d_options* options, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Shows the elements of x, row-major, under another shape. The result shares the
        /// memory of x. One size may be -1: it follows from the others. Any element type.</summary>
        /// <remarks>
        /// <para>Result and threads: those of all operations. Errors: INVALID_ARGUMENT if the
        /// number of elements differs.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_reshape(
            TensorHandle x, long[] dims, int rank, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Axis i of the result is axis order[i] of x; order has as many numbers as x has
        /// axes. NULL: the axes in reverse. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_transpose(
            TensorHandle x, int* order, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The part [begin, end) of x along axis, as a copy. Result, errors and threads:
        /// those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_slice(
            TensorHandle x, int axis, long begin, long end, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Joins tensors along axis, in the order of the list. They may differ in the size
        /// of that axis alone. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_concat(
            IntPtr[] tensors, int tensor_count, int axis, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Repeats x until it has the shape dims: an axis of size 1, or a missing one at
        /// the front, is repeated. Result, errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_expand(
            TensorHandle x, long[] dims, int rank, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>The sums over some axes. axes NULL: over all. keep_axes 1 keeps them with the
        /// size 1.</summary>
        /// <remarks>
        /// <para>Result, errors and threads: those of all operations.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_sum(
            TensorHandle x, int* axes, int axis_count, int keep_axes, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>The means over some axes, as troika_tensor_sum, with its errors and
        /// threads.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_mean(
            TensorHandle x, int* axes, int axis_count, int keep_axes, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>The root of the sum of all squares: the Frobenius norm of a matrix. Result,
        /// errors and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_norm(
            TensorHandle x, out TensorHandle out_tensor, out troika_error error);

        /// <summary>e^x over the sum of e^x along axis. Result, errors and threads: those of all
        /// operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_softmax(
            TensorHandle x, int axis, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The places of the largest numbers along axis, as i64 without that axis. The
        /// first of equal numbers counts; NaN counts as the largest. Not recorded. Result, errors
        /// and threads: those of all operations.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_argmax(
            TensorHandle x, int axis, out TensorHandle out_tensor, out troika_error error);

        /// <summary>The cross-entropy of each label, f32: of logits x [batch, classes], [batch,
        /// steps, classes] or [batch, classes, H, W], and labels of that shape without its classes,
        /// of i32, i64 or u8. Result, errors and threads: those of all operations. The loss of a
        /// label that is no class is NaN.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_cross_entropy(
            TensorHandle x, TensorHandle labels, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Writes a tensor as text: type, shape and device, then its numbers, in brackets
        /// per axis. A tensor of more than 1,000 numbers shows the first and the last 3 of each
        /// axis that has more than 6.</summary>
        /// <remarks>
        /// <para>buffer of capacity bytes gets as much as fits, with a NUL; *out_size (may be NULL)
        /// the bytes that the whole text needs, with its NUL. Errors: INVALID_ARGUMENT for a NULL
        /// buffer with a capacity. Threads: reads the tensor.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_to_text(
            TensorHandle tensor, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Waits until all operations on a device that were called before have ended.
        /// Errors: INVALID_ARGUMENT (kind of device), DEVICE_UNAVAILABLE; COMM and others that an
        /// operation on a GPU ended with. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_device_synchronize(
            ContextHandle context, Device device, out troika_error error);
    }
}
