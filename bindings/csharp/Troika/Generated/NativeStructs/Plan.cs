// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>A step to plan, described as in troika_trainer_options, and the devices: all of one
    /// kind, each linked to every other of its node. The nodes are linked by a network.</summary>
    /// <remarks>
    /// <para>Begin with TROIKA_PLAN_OPTIONS_INIT. Its devices are H200 GPUs with NVLink, by the
    /// data sheet:</para>
    /// <para>- memory of 141 GB, with 4.8e12 bytes per second.</para>
    /// <para>- 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.</para>
    /// <para>- links of 450e9 bytes per second each way.</para>
    /// <para>A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2
    /// microseconds per message within a node, and the 5 between nodes, are guesses.</para>
    /// </remarks>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_plan_options
    {
        internal uint struct_size;
        internal int devices;
        internal long batch;
        internal int loss;
        internal int precision;
        internal double momentum;
        internal int micro_batches;
        internal int layer_schedule;
        internal int layer_chunks;
        internal int device_kind;
        internal long memory_bytes;
        internal double operations_per_second;
        internal double memory_bandwidth;
        internal double link_bandwidth;
        internal double link_latency;
        internal int logical_shards;
        internal int recompute_segments;
        internal int shard_optimizer;
        internal int gradient_compression;
        internal byte* recompute_layers;
        internal long activation_budget_bytes;
        internal double max_gradient_norm;
        internal troika_trainer_options* trainer;
        internal int devices_per_node;
        internal int reserved;
        internal double node_bandwidth;
        internal double node_latency;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_plan_options Default()
        {
            troika_plan_options raw;
            NativeMethods.troika_plan_options_init(&raw, (uint)sizeof(troika_plan_options));
            return raw;
        }
    }

    /// <summary>Memory, communication and time of a step. Bytes of memory are those of the device
    /// that needs most in total; bytes sent are those of the device that sends most. Filled by
    /// troika_plan_estimate and troika_plan_choose.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_plan_result
    {
        internal uint struct_size;
        internal int fits;
        internal troika_mesh mesh;
        internal long parameter_bytes;
        internal long gradient_bytes;
        internal long optimizer_bytes;
        internal long activation_bytes;
        internal long total_bytes;
        internal long sent_bytes;
        internal double bubble;
        internal double seconds;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_plan_result Default()
        {
            troika_plan_result raw;
            NativeMethods.troika_plan_result_init(&raw, (uint)sizeof(troika_plan_result));
            return raw;
        }
    }
}
