// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Memory of one replica in bytes. Filled by troika_trainer_memory.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_memory_info
    {
        internal uint struct_size;
        internal int plans;
        internal long arena_bytes;
        internal long parameter_bytes;
        internal long gradient_bytes;
        internal long optimizer_bytes;
        internal long sample_bytes;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_memory_info Default()
        {
            troika_memory_info raw;
            NativeMethods.troika_memory_info_init(&raw, (uint)sizeof(troika_memory_info));
            return raw;
        }
    }

    /// <summary>Sums over many batches. Filled by calls that train on or evaluate the batches of a
    /// loader.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_metrics
    {
        internal uint struct_size;
        internal int reserved;
        internal double loss;
        internal double accuracy;
        internal long samples;
        internal long correct;
        internal double seconds;
        internal long labels;
        internal long skipped_steps;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_metrics Default()
        {
            troika_metrics raw;
            NativeMethods.troika_metrics_init(&raw, (uint)sizeof(troika_metrics));
            return raw;
        }
    }

    /// <summary>The progress after a batch, as a progress callback receives it.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_progress
    {
        internal uint struct_size;
        internal int reserved;
        internal long batch;
        internal long batches;
        internal long epoch;
        internal long samples;
        internal long correct;
        internal double loss;
        internal double seconds;
        internal int training;
        internal int skipped;
        internal double batch_loss;
        internal long batch_samples;
        internal long batch_correct;
        internal double learning_rate;
        internal long labels;
        internal long batch_labels;
        internal double wait_seconds;
    }

    /// <summary>How a training state is saved. Begin with TROIKA_SAVE_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_save_options
    {
        internal uint struct_size;
        internal int keep;
        internal int in_background;
        internal int reserved;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_save_options Default()
        {
            troika_save_options raw;
            NativeMethods.troika_save_options_init(&raw, (uint)sizeof(troika_save_options));
            return raw;
        }
    }

    /// <summary>The result of a step. Filled by troika_trainer_step.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_step_result
    {
        internal uint struct_size;
        internal int reserved;
        internal double loss;
        internal long samples;
        internal long correct;
        internal long step;
        internal double learning_rate;
        internal double seconds;
        internal double loss_scale;
        internal double gradient_norm;
        internal long labels;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_step_result Default()
        {
            troika_step_result raw;
            NativeMethods.troika_step_result_init(&raw, (uint)sizeof(troika_step_result));
            return raw;
        }
    }
}
