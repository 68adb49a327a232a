using System;
using System.Threading;

namespace Troika
{
    /// <summary>Training, evaluation or prediction was canceled by its token, between two batches.
    /// The trainer is usable, and its loader is at the batch after the last one that was
    /// used.</summary>
    public sealed class RunCanceledException : OperationCanceledException
    {
        internal RunCanceledException(Metrics metrics, long samples, CancellationToken token)
            : base("the run was canceled after " + samples + " samples", token)
        {
            Metrics = metrics;
            Samples = samples;
        }

        /// <summary>The metrics of the batches before, or null if the run predicted.</summary>
        public Metrics Metrics { get; }

        /// <summary>The samples of these batches.</summary>
        public long Samples { get; }
    }
}
