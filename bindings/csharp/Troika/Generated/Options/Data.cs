// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Arrays of samples and targets.</summary>
    public sealed partial class Arrays
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe Arrays()
        {
            Library.Load();
            troika_arrays raw = troika_arrays.Default();
            ReadFrom(&raw);
        }

        /// <summary>Type of inputs: Dtype.F32 (default), Dtype.F64, Dtype.F16, Dtype.BF16,
        /// Dtype.U8, Dtype.I32 or Dtype.I64.</summary>
        public Dtype Dtype { get; set; }

        /// <summary>Shape of a sample: sizes. Must be set. Copied.</summary>
        public IReadOnlyList<long> Dims { get; set; }

        /// <summary>true: samples are tokens; dtype is Dtype.U8, Dtype.I32 or Dtype.I64. false
        /// (default): samples are numbers, which become f32.</summary>
        public bool Tokens { get; set; }

        /// <summary>Type of targets: Dtype.U8, Dtype.I32 or Dtype.I64 for labels; Dtype.F32 or
        /// Dtype.F64 for values.</summary>
        public Dtype TargetDtype { get; set; }

        /// <summary>true: the arrays are not copied. The caller must not change them until destroy
        /// is called. Default false.</summary>
        public bool Borrow { get; set; }

        /// <summary>Labels or values of a sample; default 1.</summary>
        public long TargetSize { get; set; }

        /// <summary>A number x becomes (x - mean) / std. A u8 number p is x = p / 255. Computed in
        /// f32 for Dtype.U8, Dtype.F16, Dtype.BF16 and Dtype.F32, in f64 for other types. Default
        /// 0; tokens need 0 and 1.</summary>
        public double Mean { get; set; }

        /// <summary>Above 0; default 1.</summary>
        public double Std { get; set; }

        /// <summary>A label that weighs nothing; null (default): none.</summary>
        public long? IgnoreIndex { get; set; }

        private unsafe void ReadFrom(troika_arrays* raw)
        {
            Dtype = (Dtype)raw->dtype;
            Dims = NativeArray.Read(raw->dims, raw->rank);
            Tokens = raw->tokens == 1;
            TargetDtype = (Dtype)raw->target_dtype;
            Borrow = raw->borrow == 1;
            TargetSize = raw->target_size;
            Mean = raw->mean;
            Std = raw->std;
            IgnoreIndex = raw->ignore_index == Library.Unset ? (long?)null : raw->ignore_index;
        }

        internal unsafe void WriteTo(troika_arrays* raw, NativeScope scope)
        {
            *raw = troika_arrays.Default();
            raw->dtype = (int)Dtype;
            raw->rank = Dims?.Count ?? 0;
            raw->dims = scope.Copy(Dims);
            raw->tokens = Tokens ? 1 : 0;
            raw->target_dtype = (int)TargetDtype;
            raw->borrow = Borrow ? 1 : 0;
            raw->target_size = TargetSize;
            raw->mean = Mean;
            raw->std = Std;
            raw->ignore_index = IgnoreIndex ?? Library.Unset;
            WriteMore(raw, scope);
        }

        unsafe partial void WriteMore(troika_arrays* raw, NativeScope scope);
    }

    /// <summary>Transforms of image datasets.</summary>
    public sealed partial class DatasetOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe DatasetOptions()
        {
            Library.Load();
            troika_dataset_options raw = troika_dataset_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>Bilinear resize to this height (pixel centres, no antialiasing), 1 to 65535,
        /// such as the tutorial's 96x96; unset: none.</summary>
        public long? ResizeHeight { get; set; }

        /// <summary>As ResizeHeight; set both or none.</summary>
        public long? ResizeWidth { get; set; }

        /// <summary>A u8 pixel p becomes (p / 255 - mean) / std; default 0.</summary>
        public double Mean { get; set; }

        /// <summary>Default 1; above 0.</summary>
        public double Std { get; set; }

        private unsafe void ReadFrom(troika_dataset_options* raw)
        {
            ResizeHeight = raw->resize_height == Library.Unset ? (long?)null : raw->resize_height;
            ResizeWidth = raw->resize_width == Library.Unset ? (long?)null : raw->resize_width;
            Mean = raw->mean;
            Std = raw->std;
        }

        internal unsafe void WriteTo(troika_dataset_options* raw, NativeScope scope)
        {
            *raw = troika_dataset_options.Default();
            raw->resize_height = ResizeHeight ?? Library.Unset;
            raw->resize_width = ResizeWidth ?? Library.Unset;
            raw->mean = Mean;
            raw->std = Std;
        }
    }

    /// <summary>Options of a loader.</summary>
    public sealed partial class LoaderOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe LoaderOptions()
        {
            Library.Load();
            troika_loader_options raw = troika_loader_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>true: the order is a function of (seed, epoch); false (default): the dataset's
        /// order.</summary>
        public bool Shuffle { get; set; }

        /// <summary>Samples per batch, for all devices together. Must be set.</summary>
        public long Batch { get; set; }

        /// <summary>true: leaves out a last batch that is smaller than batch; false (default):
        /// returns it.</summary>
        public bool DropLast { get; set; }

        /// <summary>Batches that the loader's own thread prepares ahead, 0 to 1024; default 2; 0:
        /// no thread.</summary>
        public int Prefetch { get; set; }

        /// <summary>Seed of the shuffle, of weighted sampling, and of flip and crop; default
        /// 0.</summary>
        public ulong Seed { get; set; }

        /// <summary>Weighted sampling: samples of an epoch; 0 (default): those of the
        /// dataset.</summary>
        public long EpochSamples { get; set; }

        /// <summary>Reads only this process's share of each batch, for a loop of the caller's own.
        /// The samples of a batch are divided in their order, and the first ranks have one more if
        /// they do not divide evenly. A process may get none: a batch of 0 samples. All processes
        /// see the same number of batches. A trainer that has the group divides any loader by its
        /// own devices. null (default): whole batches.</summary>
        public Group Group { get; set; }

        /// <summary>true: each sample is mirrored left to right with probability 1/2. Only for
        /// samples f32 [c, h, w]. Random numbers are a function of (seed, epoch, place in the
        /// epoch), so each epoch has other samples, and a resumed epoch the same. GPUs do not keep
        /// the samples. false (default): none.</summary>
        public bool Flip { get; set; }

        /// <summary>N: each sample is shifted by -N to N pixels along its height, and along its
        /// width. Pixels beyond an edge are those before the edge, mirrored (as numpy.pad does in
        /// its mode "reflect"). N is below the height and the width. Otherwise as flip; 0
        /// (default): none.</summary>
        public int Crop { get; set; }

        private unsafe void ReadFrom(troika_loader_options* raw)
        {
            Shuffle = raw->shuffle == 1;
            Batch = raw->batch;
            DropLast = raw->drop_last == 1;
            Prefetch = raw->prefetch;
            Seed = raw->seed;
            EpochSamples = raw->epoch_samples;
            Flip = raw->flip == 1;
            Crop = raw->crop;
        }

        internal unsafe void WriteTo(troika_loader_options* raw, NativeScope scope)
        {
            *raw = troika_loader_options.Default();
            raw->shuffle = Shuffle ? 1 : 0;
            raw->batch = Batch;
            raw->drop_last = DropLast ? 1 : 0;
            raw->prefetch = Prefetch;
            raw->seed = Seed;
            raw->epoch_samples = EpochSamples;
            raw->group = scope.Hold(Group);
            raw->flip = Flip ? 1 : 0;
            raw->crop = Crop;
            WriteMore(raw, scope);
        }

        unsafe partial void WriteMore(troika_loader_options* raw, NativeScope scope);
    }

    /// <summary>The position of a loader: the batch that Loader.Next returns next.</summary>
    public sealed partial class LoaderPosition
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe LoaderPosition()
        {
            Library.Load();
            troika_loader_position raw = troika_loader_position.Default();
            ReadFrom(&raw);
        }

        internal unsafe LoaderPosition(troika_loader_position* raw)
        {
            ReadFrom(raw);
        }

        /// <summary>From 0.</summary>
        public long Epoch { get; set; }

        /// <summary>Batch within the epoch, from 0.</summary>
        public long Batch { get; set; }

        /// <summary>Batches in an epoch. 0 in Loader.Seek: not known. For a stream: those of the
        /// last epoch that has ended, and 0 before.</summary>
        public long Batches { get; set; }

        private unsafe void ReadFrom(troika_loader_position* raw)
        {
            Epoch = raw->epoch;
            Batch = raw->batch;
            Batches = raw->batches;
        }

        internal unsafe void WriteTo(troika_loader_position* raw, NativeScope scope)
        {
            *raw = troika_loader_position.Default();
            raw->epoch = Epoch;
            raw->batch = Batch;
            raw->batches = Batches;
        }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text("LoaderPosition", ("Epoch", Epoch), ("Batch", Batch), ("Batches", Batches));
    }

    /// <summary>A dataset of the host's own.</summary>
    public sealed partial class Source
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe Source()
        {
            Library.Load();
            troika_source raw = troika_source.Default();
            ReadFrom(&raw);
        }

        /// <summary>Dtype.F32 (default), or Dtype.I32 for tokens.</summary>
        public Dtype Dtype { get; set; }

        /// <summary>Shape of a sample: sizes. Must be set. Copied.</summary>
        public IReadOnlyList<long> Dims { get; set; }

        /// <summary>Samples, which are read in any order. -1: a stream of unknown length, which is
        /// read from its first sample to its last.</summary>
        public long N { get; set; }

        /// <summary>Above the largest label; default 0: targets are no labels.</summary>
        public long Classes { get; set; }

        /// <summary>Above the largest token; must be set for tokens.</summary>
        public long Words { get; set; }

        /// <summary>Labels of a sample, if classes is set; default 1.</summary>
        public long LabelSize { get; set; }

        /// <summary>Values of a sample; default 0: targets are no values. Only if classes is 0; if
        /// both are 0, samples have no targets.</summary>
        public long ValueSize { get; set; }

        /// <summary>A label that weighs nothing; null (default): none.</summary>
        public long? IgnoreIndex { get; set; }

        private unsafe void ReadFrom(troika_source* raw)
        {
            Dtype = (Dtype)raw->dtype;
            Dims = NativeArray.Read(raw->dims, raw->rank);
            N = raw->n;
            Classes = raw->classes;
            Words = raw->words;
            LabelSize = raw->label_size;
            ValueSize = raw->value_size;
            IgnoreIndex = raw->ignore_index == Library.Unset ? (long?)null : raw->ignore_index;
        }

        internal unsafe void WriteTo(troika_source* raw, NativeScope scope)
        {
            *raw = troika_source.Default();
            raw->dtype = (int)Dtype;
            raw->rank = Dims?.Count ?? 0;
            raw->dims = scope.Copy(Dims);
            raw->n = N;
            raw->classes = Classes;
            raw->words = Words;
            raw->label_size = LabelSize;
            raw->value_size = ValueSize;
            raw->ignore_index = IgnoreIndex ?? Library.Unset;
            WriteMore(raw, scope);
        }

        unsafe partial void WriteMore(troika_source* raw, NativeScope scope);
    }
}
