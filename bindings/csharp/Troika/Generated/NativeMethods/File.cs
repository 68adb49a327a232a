// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Writes the contents of a safetensors file as text, one line each: "metadata KEY
        /// = VALUE", then "NAME DTYPE [d0, d1, ...]" in the order of the data. The whole header is
        /// checked first. The buffer holds capacity bytes and is always NUL-terminated. If out_size
        /// is not NULL, it receives the bytes needed, including the NUL. A buffer that is too
        /// small, or NULL with capacity 0, is no error.</summary>
        /// <remarks>
        /// <para>Errors: NOT_FOUND (no such file), IO, CORRUPT (not the format), INVALID_ARGUMENT
        /// (a capacity below 0). Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_file_inspect(
            byte[] path, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Writes the path of the newest file that troika_trainer_save_with kept for path:
        /// the one with the largest step. The rules for the buffer are those of
        /// troika_file_inspect.</summary>
        /// <remarks>
        /// <para>Errors: NOT_FOUND (there is none), IO, INVALID_ARGUMENT (a capacity below 0). Any
        /// thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_file_newest(
            byte[] path, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);
    }
}
