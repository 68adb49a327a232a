// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills options as TROIKA_GROUP_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_group_options_init(
            troika_group_options* options, uint struct_size);

        /// <summary>Fills info as TROIKA_GROUP_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_group_info_init(
            troika_group_info* info, uint struct_size);

        /// <summary>Joins a group, and returns when all processes have joined. options may be NULL:
        /// defaults. Collective.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_group with troika_group_destroy. Errors: INVALID_ARGUMENT,
        /// naming the option or the variable. COMM, naming the ranks that have not joined, or the
        /// reason why rank 0 cannot be reached. IO (the file of a secret), OUT_OF_MEMORY.
        /// UNSUPPORTED if libsodium is missing, or on Windows if there are several processes. Any
        /// thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_create(
            ContextHandle context, troika_group_options* options, out GroupHandle out_group,
            out troika_error error);

        /// <summary>Describes the group and this process. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_describe(
            GroupHandle group, troika_group_info* out_info, out troika_error error);

        /// <summary>Returns when all processes have called it. Collective.</summary>
        /// <remarks>
        /// <para>Errors: COMM. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_barrier(
            GroupHandle group, out troika_error error);

        /// <summary>Replaces the elements of tensor by their sums over all processes, which have
        /// the same bits in every process. All processes have tensors of one type and shape: f32,
        /// f64, i32 or i64; f16 and bf16 are summed in f32 and rounded once. Collective.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT, UNSUPPORTED (the type; the transport's plug-in is
        /// missing), MISMATCH, COMM, OUT_OF_MEMORY, BUSY. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_all_reduce(
            GroupHandle group, TensorHandle tensor, out troika_error error);

        /// <summary>Replaces the elements of tensor by those of process root. Any type; all
        /// processes have tensors of one type and shape. Collective.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_group_all_reduce. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_broadcast(
            GroupHandle group, TensorHandle tensor, int root, out troika_error error);

        /// <summary>Creates a tensor on the device of tensor with the tensors of all processes, one
        /// after another along axis 0, by rank. Any type; sizes of axis 0 may differ, also be 0,
        /// others are equal. Collective.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_tensor with troika_tensor_destroy. Errors: those of
        /// troika_group_all_reduce. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_all_gather(
            GroupHandle group, TensorHandle tensor, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Creates a tensor on the device of tensor with this process's rows of the sum
        /// over all processes: rows are elements along axis 0, in the order of ranks; their numbers
        /// differ by at most one, and the first ranks have more. Types as of
        /// troika_group_all_reduce. Collective.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_tensor with troika_tensor_destroy. Errors: those of
        /// troika_group_all_reduce. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_reduce_scatter(
            GroupHandle group, TensorHandle tensor, out TensorHandle out_tensor,
            out troika_error error);

        /// <summary>Sends the elements of tensor to process to, which calls troika_group_receive.
        /// Returns when the tensor may change; the receiver need not have called yet. All processes
        /// connect to each other in their first call of the group that communicates, so each must
        /// make one.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_group_all_reduce. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_send(
            GroupHandle group, TensorHandle tensor, int to, out troika_error error);

        /// <summary>Replaces the elements of tensor by those that process from sends. Messages of
        /// one process arrive in the order of their sends. MISMATCH if the sender's type or shape
        /// is another one; the message is lost then, and the tensor is unchanged.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_group_all_reduce. One thread per group at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_group_receive(
            GroupHandle group, TensorHandle tensor, int from, out troika_error error);

        /// <summary>Leaves the group. The handle must not be used again. NULL is ignored. Other
        /// processes notice when they wait for this one. Never fails. Any thread, but not while
        /// another is inside a call with the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_group_destroy(IntPtr group);
    }
}
