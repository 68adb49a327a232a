// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Arrays of samples and targets. Begin with TROIKA_ARRAYS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_arrays
    {
        internal uint struct_size;
        internal int dtype;
        internal void* inputs;
        internal long* dims;
        internal int rank;
        internal int tokens;
        internal long n;
        internal void* targets;
        internal int target_dtype;
        internal int borrow;
        internal long target_size;
        internal double mean;
        internal double std;
        internal long ignore_index;
        internal IntPtr destroy;
        internal IntPtr user;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_arrays Default()
        {
            troika_arrays raw;
            NativeMethods.troika_arrays_init(&raw, (uint)sizeof(troika_arrays));
            return raw;
        }
    }

    /// <summary>Description of a batch. Filled by troika_batch_describe.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_batch_info
    {
        internal uint struct_size;
        internal int rank;
        internal long n;
        internal fixed long dims[8];
        internal float* inputs;
        internal int* labels;
        internal float* values;
        internal long value_size;
        internal int* tokens;
        internal long label_size;
        internal float* weights;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_batch_info Default()
        {
            troika_batch_info raw;
            NativeMethods.troika_batch_info_init(&raw, (uint)sizeof(troika_batch_info));
            return raw;
        }
    }

    /// <summary>Description of a dataset. Filled by troika_dataset_describe.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_dataset_info
    {
        internal uint struct_size;
        internal int rank;
        internal long n;
        internal fixed long dims[8];
        internal long classes;
        internal long label_size;
        internal long words;
        internal int dtype;
        internal int reserved;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_dataset_info Default()
        {
            troika_dataset_info raw;
            NativeMethods.troika_dataset_info_init(&raw, (uint)sizeof(troika_dataset_info));
            return raw;
        }
    }

    /// <summary>Transforms of image datasets. Begin with TROIKA_DATASET_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_dataset_options
    {
        internal uint struct_size;
        internal int reserved;
        internal long resize_height;
        internal long resize_width;
        internal double mean;
        internal double std;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_dataset_options Default()
        {
            troika_dataset_options raw;
            NativeMethods.troika_dataset_options_init(&raw, (uint)sizeof(troika_dataset_options));
            return raw;
        }
    }

    /// <summary>Options of a loader. Begin with TROIKA_LOADER_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_loader_options
    {
        internal uint struct_size;
        internal int shuffle;
        internal long batch;
        internal int drop_last;
        internal int prefetch;
        internal ulong seed;
        internal double* weights;
        internal long epoch_samples;
        internal IntPtr group;
        internal int flip;
        internal int crop;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_loader_options Default()
        {
            troika_loader_options raw;
            NativeMethods.troika_loader_options_init(&raw, (uint)sizeof(troika_loader_options));
            return raw;
        }
    }

    /// <summary>The position of a loader: the batch that troika_loader_next returns next.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_loader_position
    {
        internal uint struct_size;
        internal int reserved;
        internal long epoch;
        internal long batch;
        internal long batches;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_loader_position Default()
        {
            troika_loader_position raw;
            NativeMethods.troika_loader_position_init(&raw, (uint)sizeof(troika_loader_position));
            return raw;
        }
    }

    /// <summary>Samples that the host is asked to write. Borrowed until the callback
    /// returns.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_read_request
    {
        internal uint struct_size;
        internal int reserved;
        internal long n;
        internal long* indices;
        internal long epoch;
        internal long first;
        internal void* inputs;
        internal int* labels;
        internal float* values;
    }

    /// <summary>A dataset of the host's own. Begin with TROIKA_SOURCE_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_source
    {
        internal uint struct_size;
        internal int dtype;
        internal long* dims;
        internal int rank;
        internal int reserved;
        internal long n;
        internal long classes;
        internal long words;
        internal long label_size;
        internal long value_size;
        internal long ignore_index;
        internal IntPtr read;
        internal IntPtr user;
        internal IntPtr user_destroy;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_source Default()
        {
            troika_source raw;
            NativeMethods.troika_source_init(&raw, (uint)sizeof(troika_source));
            return raw;
        }
    }
}
