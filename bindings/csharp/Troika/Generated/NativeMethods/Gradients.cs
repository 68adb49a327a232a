// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Creates an empty record. Owned: destroy *out_gradients with
        /// troika_gradients_destroy. Errors: INVALID_ARGUMENT. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_gradients_create(
            ContextHandle context, [Out] IntPtr[] out_gradients, out troika_error error);

        /// <summary>Ends the recording and frees what is held. NULL is ignored. Never fails. Any
        /// thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_gradients_destroy(IntPtr gradients);

        /// <summary>Records the operations that read tensor from now on. Until the record is
        /// destroyed, calls that would change the tensor return INVALID_ARGUMENT. Do not change its
        /// memory by other ways, such as a result of troika_tensor_reshape.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT if another record watches the tensor, or if the tensor is
        /// not f32, bf16 or f16. Threads: writes the tensor.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_gradients_watch(
            GradientsHandle gradients, TensorHandle tensor, out troika_error error);

        /// <summary>Computes the gradients of number, a tensor of one element that operations of
        /// this record have made, for each of tensors. out_tensors[i] has the type, the shape and
        /// the device of tensors[i]. May be called several times.</summary>
        /// <remarks>
        /// <para>Owned: destroy each of out_tensors[0 .. tensor_count-1]; on an error all are NULL.
        /// Errors: INVALID_ARGUMENT if the number or a tensor is not of this record, if there are
        /// several elements, or if the number does not depend on a tensor; UNSUPPORTED for an
        /// operation without a gradient; OUT_OF_MEMORY. Threads: reads the tensors.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_gradients_compute(
            GradientsHandle gradients, TensorHandle number, IntPtr[] tensors, int tensor_count,
            [Out] IntPtr[] out_tensors, out troika_error error);
    }
}
