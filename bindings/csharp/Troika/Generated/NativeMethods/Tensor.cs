// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Creates a tensor of rank dimensions dims on device. data holds the elements,
        /// row-major, in host memory, and is copied; NULL fills with zeros. Rank 0 is a scalar; a
        /// dimension may be 0.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_tensor with troika_tensor_destroy. Errors: INVALID_ARGUMENT
        /// (kind of device, dtype, rank or a dimension), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any
        /// thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_create(
            ContextHandle context, Device device, int dtype, long[] dims, int rank, void* data,
            out TensorHandle out_tensor, out troika_error error);

        /// <summary>Gives up the caller's hold on a tensor. NULL is ignored. Never fails. Any
        /// thread, but not while another is inside a call with the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_tensor_destroy(IntPtr tensor);

        /// <summary>Fills info as TROIKA_TENSOR_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_tensor_info_init(
            troika_tensor_info* info, uint struct_size);

        /// <summary>Describes a tensor without reading its values. Errors: INVALID_ARGUMENT
        /// (struct_size). Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_describe(
            TensorHandle tensor, troika_tensor_info* out_info, out troika_error error);

        /// <summary>Copies the elements, row-major, into data in host memory, size_bytes long.
        /// Errors: INVALID_ARGUMENT if size_bytes is not the tensor's size. Threads: reads the
        /// tensor.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_to_host(
            TensorHandle tensor, void* data, long size_bytes, out troika_error error);

        /// <summary>Copies data, row-major in host memory, size_bytes long, into the tensor.
        /// Errors: INVALID_ARGUMENT if size_bytes is not the tensor's size. Threads: writes the
        /// tensor.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_from_host(
            TensorHandle tensor, void* data, long size_bytes, out troika_error error);

        /// <summary>Copies the elements of source into destination, from device to device; shape
        /// and dtype must agree. Errors: INVALID_ARGUMENT if they differ, OUT_OF_MEMORY. Threads:
        /// reads source, writes destination.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_copy(
            TensorHandle source, TensorHandle destination, out troika_error error);

        /// <summary>Returns a new tensor with the same elements on device: always a copy, even if
        /// the tensor is already there. Owned: destroy *out_tensor. Errors: INVALID_ARGUMENT (kind
        /// of device), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Threads: reads the tensor.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_to(
            TensorHandle tensor, Device device, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Cuts a tensor along dimension 0 into device_count pieces, in order, and puts
        /// piece i on devices[i]. The sizes of pieces differ by at most one, the larger pieces
        /// first: 10 rows on 4 devices are cut into 3, 3, 2 and 2. Pieces may be empty.</summary>
        /// <remarks>
        /// <para>Owned: destroy each of out_tensors[0 .. device_count-1]; on an error all are NULL.
        /// Errors: INVALID_ARGUMENT (rank 0, device_count below 1, kind of device),
        /// DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Threads: reads the tensor.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_scatter(
            TensorHandle tensor, Device[] devices, int device_count, [Out] IntPtr[] out_tensors,
            out troika_error error);

        /// <summary>Sums tensor_count tensors of one shape and dtype element by element, in the
        /// order of the list, and puts the sum into each. The result has the same bits on every
        /// device. f32, f64, bf16, f16, i32, i64 and u8; sums of 16-bit numbers are rounded once,
        /// and integers wrap around.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (shapes or dtypes differ, the same tensor twice,
        /// tensor_count below 1), UNSUPPORTED (other dtypes), OUT_OF_MEMORY. Threads: writes every
        /// tensor of the list.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_all_reduce(
            IntPtr[] tensors, int tensor_count, out troika_error error);

        /// <summary>Exports a tensor to DLPack (version 0.8 layout) without a copy. Owned: whoever
        /// takes *out_managed calls its deleter once, from any thread. The memory stays valid until
        /// then, even after troika_tensor_destroy. Errors: OUT_OF_MEMORY. Threads: reads the
        /// tensor; if the consumer reads or writes the memory, that counts as reading or writing
        /// the tensor.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_to_dlpack(
            TensorHandle tensor, out IntPtr out_managed, out troika_error error);

        /// <summary>Exports a tensor as troika_tensor_to_dlpack does, in the layout of DLPack 1.0,
        /// which says its own version. Owned, errors and threads: those of
        /// troika_tensor_to_dlpack.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_to_dlpack_versioned(
            TensorHandle tensor, out IntPtr out_managed, out troika_error error);

        /// <summary>Creates a tensor from another library's DLPack struct without a copy. Memory
        /// that is not aligned to its type is copied, and the deleter is called at once. On success
        /// the tensor owns managed and calls its deleter when the last hold on it ends; on failure
        /// the caller still owns it.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_tensor. Errors: INVALID_ARGUMENT (rank, a dimension, no
        /// memory), UNSUPPORTED (strides that are not row-major, an unknown dtype, a device that is
        /// neither CPU nor CUDA), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any thread. Memory of a GPU
        /// must be ready for any stream: the call does not wait for work that the producer has in
        /// flight.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_from_dlpack(
            ContextHandle context, IntPtr managed, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Creates a tensor as troika_tensor_from_dlpack does, from a struct of DLPack
        /// 1.x. Memory that is marked as read-only is copied.</summary>
        /// <remarks>
        /// <para>Owned, errors and threads: those of troika_tensor_from_dlpack; UNSUPPORTED also
        /// for another major version than 1.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_tensor_from_dlpack_versioned(
            ContextHandle context, IntPtr managed, out TensorHandle out_tensor,
            out troika_error error);
    }
}
