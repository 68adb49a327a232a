// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Options of troika_model_load. Begin with TROIKA_LOAD_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_load_options
    {
        internal uint struct_size;
        internal int allow_partial;
        internal byte* strip_prefix;
        internal int skip_mismatching;
        internal int reserved;
        internal byte* skip;
        internal byte* name_map;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_load_options Default()
        {
            troika_load_options raw;
            NativeMethods.troika_load_options_init(&raw, (uint)sizeof(troika_load_options));
            return raw;
        }
    }

    /// <summary>Report on loading. Filled by troika_model_load.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_load_report
    {
        internal uint struct_size;
        internal int loaded;
        internal int missing;
        internal int unexpected;
        internal int mismatching;
        internal int kept;
        internal fixed byte names[4096];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_load_report Default()
        {
            troika_load_report raw;
            NativeMethods.troika_load_report_init(&raw, (uint)sizeof(troika_load_report));
            return raw;
        }
    }

    /// <summary>Options of troika_model_create. Begin with TROIKA_MODEL_OPTIONS_INIT. A field that
    /// is unset takes the model's own default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_model_options
    {
        internal uint struct_size;
        internal int reserved;
        internal long classes;
        internal long input_channels;
        internal long input_height;
        internal long input_width;
        internal long hidden;
        internal long steps;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_model_options Default()
        {
            troika_model_options raw;
            NativeMethods.troika_model_options_init(&raw, (uint)sizeof(troika_model_options));
            return raw;
        }
    }

    /// <summary>Description of a parameter or buffer. Filled by
    /// troika_model_describe_parameter.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_parameter_info
    {
        internal uint struct_size;
        internal int dtype;
        internal int rank;
        internal int is_buffer;
        internal int is_initialized;
        internal int reserved;
        internal fixed long dims[8];
        internal fixed byte name[256];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_parameter_info Default()
        {
            troika_parameter_info raw;
            NativeMethods.troika_parameter_info_init(&raw, (uint)sizeof(troika_parameter_info));
            return raw;
        }
    }
}
