// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Report on loading. Filled by Model.Load.</summary>
    public sealed partial class LoadReport
    {
        internal unsafe LoadReport(troika_load_report* raw)
        {
            Loaded = raw->loaded;
            Missing = raw->missing;
            Unexpected = raw->unexpected;
            Mismatching = raw->mismatching;
            Kept = raw->kept;
            Names = Utf8.Read(raw->names, 4096);
        }

        /// <summary>Parameters and buffers that took a value.</summary>
        public int Loaded { get; }

        /// <summary>In the model, not in the file; num_batches_tracked is never missing.</summary>
        public int Missing { get; }

        /// <summary>In the file, not in the model.</summary>
        public int Unexpected { get; }

        /// <summary>In both, with another shape or dtype.</summary>
        public int Mismatching { get; }

        /// <summary>In the model, and not loaded because of skip.</summary>
        public int Kept { get; }

        /// <summary>The first missing, unexpected and mismatching names, in whole lines, one line
        /// per name: "missing fc.bias", "unexpected x", "mismatching x: file F32 [9], model F32
        /// [5]". If not all fit, the last line is "... and N more".</summary>
        public string Names { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "LoadReport", ("Loaded", Loaded), ("Missing", Missing), ("Unexpected", Unexpected),
                ("Mismatching", Mismatching), ("Kept", Kept), ("Names", Names));
    }

    /// <summary>Description of a parameter or buffer. Filled by Model.DescribeParameter.</summary>
    public sealed partial class ParameterInfo
    {
        internal unsafe ParameterInfo(troika_parameter_info* raw)
        {
            Dtype = (Dtype)raw->dtype;
            IsBuffer = raw->is_buffer == 1;
            IsInitialized = raw->is_initialized == 1;
            Dims = NativeArray.Read(raw->dims, Math.Min(raw->rank, 8));
            Name = Utf8.Read(raw->name, 256);
        }

        /// <summary>Dtype.F32, or Dtype.I64 for num_batches_tracked.</summary>
        public Dtype Dtype { get; }

        /// <summary>true: a buffer that no optimizer updates (running statistics).</summary>
        public bool IsBuffer { get; }

        /// <summary>true: it has a value.</summary>
        public bool IsInitialized { get; }

        /// <summary>Sizes; 0 beyond rank.</summary>
        public IReadOnlyList<long> Dims { get; }

        /// <summary>"conv1.weight".</summary>
        public string Name { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "ParameterInfo", ("Dtype", Dtype), ("IsBuffer", IsBuffer),
                ("IsInitialized", IsInitialized), ("Dims", Dims), ("Name", Name));
    }
}
