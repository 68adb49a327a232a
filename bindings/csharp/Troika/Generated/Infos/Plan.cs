// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Memory, communication and time of a step. Bytes of memory are those of the device
    /// that needs most in total; bytes sent are those of the device that sends most. Filled by
    /// Model.EstimatePlan and Model.ChoosePlan.</summary>
    public sealed partial class PlanResult
    {
        internal unsafe PlanResult(troika_plan_result* raw)
        {
            Fits = raw->fits == 1;
            Mesh = new Mesh(&raw->mesh);
            ParameterBytes = raw->parameter_bytes;
            GradientBytes = raw->gradient_bytes;
            OptimizerBytes = raw->optimizer_bytes;
            ActivationBytes = raw->activation_bytes;
            TotalBytes = raw->total_bytes;
            SentBytes = raw->sent_bytes;
            Bubble = raw->bubble;
            Seconds = raw->seconds;
        }

        /// <summary>true: TotalBytes is at most the memory of a device.</summary>
        public bool Fits { get; }

        /// <summary>data * layer * channel devices.</summary>
        public Mesh Mesh { get; }

        /// <summary>Parameters and buffers.</summary>
        public long ParameterBytes { get; }

        /// <summary>Gradients of parameters.</summary>
        public long GradientBytes { get; }

        /// <summary>Optimizer state; with ShardOptimizer the largest share of it.</summary>
        public long OptimizerBytes { get; }

        /// <summary>Activations and their gradients, by their lifetimes; without scratch of
        /// kernels, unless DeviceKind is DeviceKind.Cpu.</summary>
        public long ActivationBytes { get; }

        /// <summary>The sum of the four fields above.</summary>
        public long TotalBytes { get; }

        /// <summary>Sent in a step: sums of gradients and of channels, messages between layers,
        /// parameters that their owner updated (ShardOptimizer).</summary>
        public long SentBytes { get; }

        /// <summary>The share of the pipeline's time in which its devices wait for each other, 0 to
        /// 1.</summary>
        public double Bubble { get; }

        /// <summary>Duration of a step.</summary>
        public double Seconds { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "PlanResult", ("Fits", Fits), ("Mesh", Mesh), ("ParameterBytes", ParameterBytes),
                ("GradientBytes", GradientBytes), ("OptimizerBytes", OptimizerBytes),
                ("ActivationBytes", ActivationBytes), ("TotalBytes", TotalBytes),
                ("SentBytes", SentBytes), ("Bubble", Bubble), ("Seconds", Seconds));
    }
}
