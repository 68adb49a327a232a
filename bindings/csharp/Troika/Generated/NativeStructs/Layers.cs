// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Options of a 1-d convolution. Begin with TROIKA_CONV1D_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_conv1d_options
    {
        internal uint struct_size;
        internal int no_bias;
        internal long out_channels;
        internal long kernel;
        internal long stride;
        internal long padding;
        internal long dilation;
        internal long groups;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_conv1d_options Default()
        {
            troika_conv1d_options raw;
            NativeMethods.troika_conv1d_options_init(&raw, (uint)sizeof(troika_conv1d_options));
            return raw;
        }
    }

    /// <summary>Options of a 2-d convolution, and of a transposed one. Begin with
    /// TROIKA_CONV2D_OPTIONS_INIT. Arrays are {height, width}.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_conv2d_options
    {
        internal uint struct_size;
        internal int no_bias;
        internal long out_channels;
        internal fixed long kernel[2];
        internal fixed long stride[2];
        internal fixed long padding[2];
        internal fixed long dilation[2];
        internal long groups;
        internal fixed long output_padding[2];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_conv2d_options Default()
        {
            troika_conv2d_options raw;
            NativeMethods.troika_conv2d_options_init(&raw, (uint)sizeof(troika_conv2d_options));
            return raw;
        }
    }

    /// <summary>Options of max and average pooling. Begin with TROIKA_POOL2D_OPTIONS_INIT. Arrays
    /// are {height, width}.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_pool2d_options
    {
        internal uint struct_size;
        internal int exclude_padding;
        internal fixed long kernel[2];
        internal fixed long stride[2];
        internal fixed long padding[2];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_pool2d_options Default()
        {
            troika_pool2d_options raw;
            NativeMethods.troika_pool2d_options_init(&raw, (uint)sizeof(troika_pool2d_options));
            return raw;
        }
    }
}
