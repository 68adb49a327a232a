using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    public sealed partial class Arrays
    {
        private Array inputs;
        private Array targets;

        /// <summary>Samples [n, dims...], row-major. Must be set. Sets <see cref="Dtype"/> by the
        /// elements: float, double, byte, int, long. For others, such as F16 in ushort, set it too.
        /// If <see cref="Dims"/> is empty, an array of several axes has its own sizes.</summary>
        public Array Inputs
        {
            get => inputs;
            set
            {
                inputs = value;
                Dtype = (value == null ? null : Elements.DtypeOf(value)) ?? Dtype;
            }
        }

        /// <summary>Targets [n, TargetSize], row-major. null (default): samples have none, and
        /// serve only to predict. Sets <see cref="TargetDtype"/> by the elements.</summary>
        public Array Targets
        {
            get => targets;
            set
            {
                targets = value;
                TargetDtype = (value == null ? null : Elements.DtypeOf(value)) ?? TargetDtype;
            }
        }

        unsafe partial void WriteMore(troika_arrays* raw, NativeScope scope)
        {
            Elements.Check(Argument.NotNull(inputs, "Arrays.Inputs"), Dtype, "Arrays.Inputs");
            IReadOnlyList<long> dims = Dims;
            if ((dims == null || dims.Count == 0) && inputs.Rank > 1)
                dims = Elements.DimsOf(inputs, 1);
            long size = Elements.Count(dims ?? new long[0], "Arrays.Dims");
            if (size == 0)
                throw new ArgumentException("Arrays.Dims has a 0, need sizes of at least 1");
            raw->n = inputs.LongLength / size;
            Argument.Equal(inputs.LongLength, raw->n * size, "Arrays.Inputs", "elements");
            raw->rank = dims?.Count ?? 0;
            raw->dims = scope.Copy(dims);
            if (targets != null)
            {
                Elements.Check(targets, TargetDtype, "Arrays.Targets");
                Argument.Equal(targets.LongLength, raw->n * TargetSize, "Arrays.Targets", "elements");
            }
            var pinned = new PinnedPair(inputs, targets);
            raw->inputs = pinned.Inputs.Address;
            raw->targets = pinned.Targets == null ? null : pinned.Targets.Address;
            raw->destroy = Callbacks.Release;
            raw->user = Callbacks.Keep(pinned);
        }

        /// <summary>The arrays while the library reads them.</summary>
        private sealed class PinnedPair : IDisposable
        {
            internal PinnedPair(Array inputs, Array targets)
            {
                Inputs = new PinnedArray(inputs, "Arrays.Inputs");
                Targets = targets == null ? null : new PinnedArray(targets, "Arrays.Targets");
            }

            internal PinnedArray Inputs { get; }

            internal PinnedArray Targets { get; }

            public void Dispose()
            {
                Inputs.Dispose();
                Targets?.Dispose();
            }
        }
    }
}
