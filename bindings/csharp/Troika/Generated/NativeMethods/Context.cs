// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills options as TROIKA_CONTEXT_OPTIONS_INIT does, for callers that cannot use
        /// macros. NULL is ignored. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_context_options_init(
            troika_context_options* options, uint struct_size);

        /// <summary>Creates a context. options may be NULL: defaults.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_context with troika_context_destroy. Errors: INVALID_ARGUMENT
        /// (the message names the field), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_context_create(
            troika_context_options* options, out ContextHandle out_context, out troika_error error);

        /// <summary>Writes the backends that the context may use, and the transports between
        /// processes, one line each: name, version, the commit that it was built from, and the
        /// versions of its libraries; or why it cannot be used. Loads those that are not loaded
        /// yet. The rules for the buffer are those of troika_model_print.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a capacity below 0), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_context_describe_backends(
            ContextHandle context, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Gives up the caller's hold on a context, whose handle must not be used again.
        /// NULL is ignored. Never fails. Any thread, but not while another is inside a call with
        /// the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_context_destroy(IntPtr context);
    }
}
