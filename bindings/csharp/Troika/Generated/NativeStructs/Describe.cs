// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Description of a layer. Filled by troika_model_describe_layer.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_layer_info
    {
        internal uint struct_size;
        internal int input_count;
        internal fixed long inputs[8];
        internal long output;
        internal long parameters;
        internal double operations;
        internal int dtype;
        internal int rank;
        internal fixed long dims[8];
        internal fixed byte kind[64];
        internal fixed byte name[256];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_layer_info Default()
        {
            troika_layer_info raw;
            NativeMethods.troika_layer_info_init(&raw, (uint)sizeof(troika_layer_info));
            return raw;
        }
    }

    /// <summary>Description of a model. Filled by troika_model_describe.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_model_info
    {
        internal uint struct_size;
        internal int is_complete;
        internal int layers;
        internal int entries;
        internal long parameters;
        internal double operations;
        internal int input_dtype;
        internal int input_rank;
        internal fixed long input_dims[8];
        internal int output_dtype;
        internal int output_rank;
        internal fixed long output_dims[8];
        internal fixed byte name[256];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_model_info Default()
        {
            troika_model_info raw;
            NativeMethods.troika_model_info_init(&raw, (uint)sizeof(troika_model_info));
            return raw;
        }
    }

    /// <summary>Description of a trainer. Filled by troika_trainer_describe.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_trainer_info
    {
        internal uint struct_size;
        internal int device_count;
        internal troika_mesh mesh;
        internal long step;
        internal double learning_rate;
        internal double loss_scale;
        internal long trained_elements;
        internal int trained_entries;
        internal int is_usable;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_trainer_info Default()
        {
            troika_trainer_info raw;
            NativeMethods.troika_trainer_info_init(&raw, (uint)sizeof(troika_trainer_info));
            return raw;
        }
    }

    /// <summary>Description of a value. Filled by troika_model_describe_value.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_value_info
    {
        internal uint struct_size;
        internal int layer;
        internal int dtype;
        internal int rank;
        internal fixed long dims[8];

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_value_info Default()
        {
            troika_value_info raw;
            NativeMethods.troika_value_info_init(&raw, (uint)sizeof(troika_value_info));
            return raw;
        }
    }
}
