// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Description of a device. Filled by troika_device_describe.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_device_info
    {
        internal uint struct_size;
        internal int cores;
        internal long memory_bytes;
        internal long free_bytes;
        internal fixed byte name[256];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_device_info Default()
        {
            troika_device_info raw;
            NativeMethods.troika_device_info_init(&raw, (uint)sizeof(troika_device_info));
            return raw;
        }
    }
}
