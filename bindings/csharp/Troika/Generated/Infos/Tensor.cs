// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Description of a tensor. Filled by Tensor.Info.</summary>
    public sealed partial class TensorInfo
    {
        internal unsafe TensorInfo(troika_tensor_info* raw)
        {
            Dtype = (Dtype)raw->dtype;
            Device = raw->device;
            Dims = NativeArray.Read(raw->dims, Math.Min(raw->rank, 8));
            SizeBytes = raw->size_bytes;
        }

        /// <summary>Dtype.F32 and so on.</summary>
        public Dtype Dtype { get; }

        /// <summary>The device that stores it.</summary>
        public Device Device { get; }

        /// <summary>Sizes; 0 beyond rank.</summary>
        public IReadOnlyList<long> Dims { get; }

        /// <summary>Bytes of all elements.</summary>
        public long SizeBytes { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "TensorInfo", ("Dtype", Dtype), ("Device", Device), ("Dims", Dims),
                ("SizeBytes", SizeBytes));
    }
}
