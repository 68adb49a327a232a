// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Returns the name of a status, such as "TROIKA_ERROR_BUSY"; "unknown status" for
        /// any other number. Borrowed: static text. Never fails. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr troika_status_name(Status status);
    }
}
