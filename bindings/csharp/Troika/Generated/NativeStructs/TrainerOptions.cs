// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>How devices share the work; there are data * layer * channel devices. In the list
    /// of devices, those with channels of the same layers are adjacent. After them come those with
    /// the next layers, then those with other samples. 0 in layer and channel is 1.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_mesh
    {
        internal int data;
        internal int layer;
        internal int channel;
        internal int reserved;
    }

    /// <summary>A group of parameters, matched by name, with its own settings. If several groups
    /// match a parameter, the first of them counts.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_parameter_group
    {
        internal uint struct_size;
        internal int frozen;
        internal byte* pattern;
        internal double learning_rate;
        internal double weight_decay;
        internal double momentum;
        internal double beta1;
        internal double beta2;
        internal double eps;
        internal double alpha;
        internal double trust;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_parameter_group Default()
        {
            troika_parameter_group raw;
            NativeMethods.troika_parameter_group_init(&raw, (uint)sizeof(troika_parameter_group));
            return raw;
        }
    }

    /// <summary>Options of troika_model_attach. Begin with TROIKA_TRAINER_OPTIONS_INIT.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_trainer_options
    {
        internal uint struct_size;
        internal int loss;
        internal int reduction;
        internal int precision;
        internal double learning_rate;
        internal double momentum;
        internal double weight_decay;
        internal int nesterov;
        internal int schedule;
        internal long schedule_period;
        internal double schedule_gamma;
        internal double schedule_min;
        internal long warmup_steps;
        internal long bucket_bytes;
        internal ulong seed;
        internal troika_parameter_group* groups;
        internal int group_count;
        internal int deadline_ms;
        internal int collect_trace;
        internal int no_fusion;
        internal double loss_scale;
        internal long loss_scale_interval;
        internal int micro_batches;
        internal int logical_shards;
        internal troika_mesh mesh;
        internal int layer_schedule;
        internal int layer_chunks;
        internal byte* layer_cuts;
        internal int recompute_segments;
        internal int sync_batch_norm;
        internal byte* recompute_layers;
        internal long activation_budget_bytes;
        internal double max_gradient_norm;
        internal int shard_optimizer;
        internal int gradient_compression;
        internal int samples_on_host;
        internal int launches_in_turn;
        internal int optimizer;
        internal int skip_decay_one_axis;
        internal double beta1;
        internal double beta2;
        internal double eps;
        internal double alpha;
        internal double trust;
        internal double average_decay;
        internal int evaluate_parameters;
        internal int schedule_maximize;
        internal double schedule_power;
        internal double schedule_rise;
        internal double schedule_divisor;
        internal double schedule_final_divisor;
        internal double schedule_threshold;
        internal long schedule_patience;
        internal long* schedule_milestones;
        internal double* schedule_table;
        internal int schedule_milestone_count;
        internal int schedule_table_count;
        internal double label_smoothing;
        internal long ignore_index;
        internal int skip_not_finite;
        internal int late_updates;
        internal IntPtr group;
        internal double huber_delta;
        internal double* class_weights;
        internal int class_weight_count;
        internal int sample_weights;
        internal double* shares;
        internal int share_count;
        internal int reserved2;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_trainer_options Default()
        {
            troika_trainer_options raw;
            NativeMethods.troika_trainer_options_init(&raw, (uint)sizeof(troika_trainer_options));
            return raw;
        }
    }
}
