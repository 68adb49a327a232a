// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Description of a batch. Filled by Batch.Info.</summary>
    public sealed partial class BatchInfo
    {
        internal unsafe BatchInfo(troika_batch_info* raw)
        {
            N = raw->n;
            Dims = NativeArray.Read(raw->dims, Math.Min(raw->rank, 8));
            ValueSize = raw->value_size;
            LabelSize = raw->label_size;
        }

        /// <summary>Samples.</summary>
        public long N { get; }

        /// <summary>Shape of the inputs, [n, ...].</summary>
        public IReadOnlyList<long> Dims { get; }

        /// <summary>Values per sample; 0 without values.</summary>
        public long ValueSize { get; }

        /// <summary>Labels per sample; 0 without labels.</summary>
        public long LabelSize { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "BatchInfo", ("N", N), ("Dims", Dims), ("ValueSize", ValueSize),
                ("LabelSize", LabelSize));
    }

    /// <summary>Description of a dataset. Filled by Dataset.Info.</summary>
    public sealed partial class DatasetInfo
    {
        internal unsafe DatasetInfo(troika_dataset_info* raw)
        {
            N = raw->n;
            Dims = NativeArray.Read(raw->dims, Math.Min(raw->rank, 8));
            Classes = raw->classes;
            LabelSize = raw->label_size;
            Words = raw->words;
            Dtype = (Dtype)raw->dtype;
        }

        /// <summary>Samples; -1 for a stream.</summary>
        public long N { get; }

        /// <summary>Shape of a sample, such as {1, 28, 28}.</summary>
        public IReadOnlyList<long> Dims { get; }

        /// <summary>The largest label + 1, without ignored labels. In a stream of tokens: words. A
        /// dataset of a callback has the host's number. If targets are no labels: 0.</summary>
        public long Classes { get; }

        /// <summary>Labels per sample; 0 if targets are no labels.</summary>
        public long LabelSize { get; }

        /// <summary>Tokens: the largest token + 1. 0 for other samples.</summary>
        public long Words { get; }

        /// <summary>Type of samples: Dtype.F32, or Dtype.I32 for tokens.</summary>
        public Dtype Dtype { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "DatasetInfo", ("N", N), ("Dims", Dims), ("Classes", Classes),
                ("LabelSize", LabelSize), ("Words", Words), ("Dtype", Dtype));
    }
}
