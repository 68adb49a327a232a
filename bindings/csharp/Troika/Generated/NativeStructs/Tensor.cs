// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Description of a tensor. Filled by troika_tensor_describe.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_tensor_info
    {
        internal uint struct_size;
        internal int dtype;
        internal int rank;
        internal Device device;
        internal int reserved;
        internal fixed long dims[8];
        internal long size_bytes;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_tensor_info Default()
        {
            troika_tensor_info raw;
            NativeMethods.troika_tensor_info_init(&raw, (uint)sizeof(troika_tensor_info));
            return raw;
        }
    }
}
