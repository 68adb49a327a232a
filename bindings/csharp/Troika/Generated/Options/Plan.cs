// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>A step to plan, described as in TrainerOptions, and the devices: all of one kind,
    /// each linked to every other of its node. The nodes are linked by a network. Its devices are
    /// H200 GPUs with NVLink, by the data sheet:</summary>
    /// <remarks>
    /// <para>- memory of 141 GB, with 4.8e12 bytes per second.</para>
    /// <para>- 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.</para>
    /// <para>- links of 450e9 bytes per second each way.</para>
    /// <para>A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2
    /// microseconds per message within a node, and the 5 between nodes, are guesses.</para>
    /// </remarks>
    public sealed partial class PlanOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe PlanOptions()
        {
            Library.Load();
            troika_plan_options raw = troika_plan_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>1 to 4096; default 1.</summary>
        public int Devices { get; set; }

        /// <summary>Samples per step, for all devices together; default 256.</summary>
        public long Batch { get; set; }

        /// <summary>Default Loss.CrossEntropy.</summary>
        public Loss Loss { get; set; }

        /// <summary>Default Precision.F32.</summary>
        public Precision Precision { get; set; }

        /// <summary>In [0, 1); above 0 there is optimizer state. Default 0.</summary>
        public double Momentum { get; set; }

        /// <summary>Parts of each pipeline's samples; default 1; 0 is 1.</summary>
        public int MicroBatches { get; set; }

        /// <summary>Default LayerSchedule.OneFOneB.</summary>
        public LayerSchedule LayerSchedule { get; set; }

        /// <summary>Stages per device, with the interleaved schedule; default 1; 0 is 1.</summary>
        public int LayerChunks { get; set; }

        /// <summary>DeviceKind.Cpu or DeviceKind.Cuda; 0 (default): either. A mesh that
        /// Model.Attach refuses on such devices cannot work; today both kinds take the same meshes.
        /// With CPU, steps are compiled for CPU devices of this machine, which takes seconds.
        /// ActivationBytes is then the arena that their kernels need, with scratch.</summary>
        public DeviceKind? DeviceKind { get; set; }

        /// <summary>Memory per device; default 141e9.</summary>
        public long MemoryBytes { get; set; }

        /// <summary>Operations per second and device. null (default): an H200's, by
        /// precision.</summary>
        public double? OperationsPerSecond { get; set; }

        /// <summary>Bytes per second that a device reads and writes; default 4.8e12.</summary>
        public double MemoryBandwidth { get; set; }

        /// <summary>Bytes per second that a device sends, while it receives as many; default
        /// 450e9.</summary>
        public double LinkBandwidth { get; set; }

        /// <summary>Seconds until a message's first byte arrives; default 2e-6.</summary>
        public double LinkLatency { get; set; }

        /// <summary>Shards of each batch; 0 (default): none.</summary>
        public int LogicalShards { get; set; }

        /// <summary>Segments of the forward pass; activations within them are computed again. 0
        /// (default): none.</summary>
        public int RecomputeSegments { get; set; }

        /// <summary>true: each parameter's optimizer state is stored on only one of the devices
        /// that share the batch. That device updates the parameter and sends it to the others (ZeRO
        /// level 1). Default false.</summary>
        public bool ShardOptimizer { get; set; }

        /// <summary>How gradients travel; default Compression.None.</summary>
        public Compression GradientCompression { get; set; }

        /// <summary>Layers whose outputs are computed again: names, with * and ?, separated by
        /// commas. null (default): none.</summary>
        public string RecomputeLayers { get; set; }

        /// <summary>Chooses what to compute again so that activations fit into this many bytes on
        /// each device. Excludes RecomputeSegments and RecomputeLayers. 0 (default): no
        /// budget.</summary>
        public long ActivationBudgetBytes { get; set; }

        /// <summary>Above 0: gradients are clipped; default 0.</summary>
        public double MaxGradientNorm { get; set; }

        /// <summary>If not null, plans the step of a trainer with these options, except mesh. The
        /// fields above that are also in TrainerOptions are then not read. null (default): the
        /// fields above count. Borrowed during the call.</summary>
        public TrainerOptions Trainer { get; set; }

        /// <summary>Devices of a node, of which devices must be a multiple. Above 0, gradients are
        /// summed in three parts: a reduce-scatter within each node, a sum over the nodes, an
        /// all-gather within each node. Only meshes that split by data alone are then estimated. 0
        /// (default): all devices are on one node.</summary>
        public int DevicesPerNode { get; set; }

        /// <summary>Bytes per second that a node sends, while it receives as many: all its network
        /// cards together. Default 4e11.</summary>
        public double NodeBandwidth { get; set; }

        /// <summary>As LinkLatency, between nodes; default 5e-6.</summary>
        public double NodeLatency { get; set; }

        private unsafe void ReadFrom(troika_plan_options* raw)
        {
            Devices = raw->devices;
            Batch = raw->batch;
            Loss = (Loss)raw->loss;
            Precision = (Precision)raw->precision;
            Momentum = raw->momentum;
            MicroBatches = raw->micro_batches;
            LayerSchedule = (LayerSchedule)raw->layer_schedule;
            LayerChunks = raw->layer_chunks;
            DeviceKind = raw->device_kind == 0 ? (DeviceKind?)null : (DeviceKind)raw->device_kind;
            MemoryBytes = raw->memory_bytes;
            OperationsPerSecond = raw->operations_per_second == Library.Unset ? (double?)null : raw->operations_per_second;
            MemoryBandwidth = raw->memory_bandwidth;
            LinkBandwidth = raw->link_bandwidth;
            LinkLatency = raw->link_latency;
            LogicalShards = raw->logical_shards;
            RecomputeSegments = raw->recompute_segments;
            ShardOptimizer = raw->shard_optimizer == 1;
            GradientCompression = (Compression)raw->gradient_compression;
            RecomputeLayers = Utf8.Read(raw->recompute_layers);
            ActivationBudgetBytes = raw->activation_budget_bytes;
            MaxGradientNorm = raw->max_gradient_norm;
            Trainer = raw->trainer == null ? null : new TrainerOptions(raw->trainer);
            DevicesPerNode = raw->devices_per_node;
            NodeBandwidth = raw->node_bandwidth;
            NodeLatency = raw->node_latency;
        }

        internal unsafe void WriteTo(troika_plan_options* raw, NativeScope scope)
        {
            *raw = troika_plan_options.Default();
            raw->devices = Devices;
            raw->batch = Batch;
            raw->loss = (int)Loss;
            raw->precision = (int)Precision;
            raw->momentum = Momentum;
            raw->micro_batches = MicroBatches;
            raw->layer_schedule = (int)LayerSchedule;
            raw->layer_chunks = LayerChunks;
            raw->device_kind = (int?)DeviceKind ?? 0;
            raw->memory_bytes = MemoryBytes;
            raw->operations_per_second = OperationsPerSecond ?? Library.Unset;
            raw->memory_bandwidth = MemoryBandwidth;
            raw->link_bandwidth = LinkBandwidth;
            raw->link_latency = LinkLatency;
            raw->logical_shards = LogicalShards;
            raw->recompute_segments = RecomputeSegments;
            raw->shard_optimizer = ShardOptimizer ? 1 : 0;
            raw->gradient_compression = (int)GradientCompression;
            raw->recompute_layers = scope.Text(RecomputeLayers, "PlanOptions.RecomputeLayers");
            raw->activation_budget_bytes = ActivationBudgetBytes;
            raw->max_gradient_norm = MaxGradientNorm;
            raw->trainer = null;
            if (Trainer != null)
            {
                raw->trainer = (troika_trainer_options*)scope.Allocate(sizeof(troika_trainer_options));
                Trainer.WriteTo(raw->trainer, scope);
            }
            raw->devices_per_node = DevicesPerNode;
            raw->node_bandwidth = NodeBandwidth;
            raw->node_latency = NodeLatency;
        }
    }
}
