// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Options of a context. Begin with TROIKA_CONTEXT_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_context_options
    {
        internal uint struct_size;
        internal int cpu_threads;
        internal ulong seed;
        internal IntPtr log;
        internal IntPtr log_user;
        internal int log_level;
        internal int use_environment;
        internal IntPtr log_user_destroy;
        internal byte* backends;
        internal byte* log_topics;
        internal byte* backend_folder;
        internal byte* cache_folder;
        internal int predict_threads;
        internal int reserved;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_context_options Default()
        {
            troika_context_options raw;
            NativeMethods.troika_context_options_init(&raw, (uint)sizeof(troika_context_options));
            return raw;
        }
    }
}
