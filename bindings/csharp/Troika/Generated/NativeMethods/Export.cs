// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>The functions of the library, as the headers declare them.</summary>
    internal static unsafe partial class NativeMethods
    {
        private const string Name = "troika";

        /// <summary>Returns the version of the library that is loaded, as TROIKA_VERSION counts.
        /// Never fails. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int troika_version();

        /// <summary>Returns one line that says how the library was built: version, commit,
        /// compiler, versions of oneDNN and zlib. troika_context_describe_backends describes
        /// plug-ins. Borrowed: static text, valid as long as the library is loaded. Never fails.
        /// Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr troika_build_info();
    }
}
