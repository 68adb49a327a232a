// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Options of troika_trainer_forward. Begin with
    /// TROIKA_FORWARD_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_forward_options
    {
        internal uint struct_size;
        internal int input_gradient;
        internal int own_loss;
        internal int reserved;
        internal double weight;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_forward_options Default()
        {
            troika_forward_options raw;
            NativeMethods.troika_forward_options_init(&raw, (uint)sizeof(troika_forward_options));
            return raw;
        }
    }
}
