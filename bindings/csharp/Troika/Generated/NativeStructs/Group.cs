// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>The place of a process in its group. Begin with TROIKA_GROUP_INFO_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_group_info
    {
        internal uint struct_size;
        internal int rank;
        internal int processes;
        internal int local_rank;
        internal int local_processes;
        internal int node;
        internal int nodes;
        internal int reserved;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_group_info Default()
        {
            troika_group_info raw;
            NativeMethods.troika_group_info_init(&raw, (uint)sizeof(troika_group_info));
            return raw;
        }
    }

    /// <summary>Options of a group. Begin with TROIKA_GROUP_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_group_options
    {
        internal uint struct_size;
        internal int rank;
        internal int processes;
        internal int node;
        internal byte* rendezvous;
        internal byte* network;
        internal byte* transport;
        internal byte* secret;
        internal int connect_timeout_ms;
        internal int deadline_ms;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_group_options Default()
        {
            troika_group_options raw;
            NativeMethods.troika_group_options_init(&raw, (uint)sizeof(troika_group_options));
            return raw;
        }
    }
}
