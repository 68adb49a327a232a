using System;
using System.Collections.Generic;
using System.Linq;
using Troika.Native;

namespace Troika
{
    /// <summary>Samples and their targets: in memory, or read by a function of the host. A dataset
    /// never changes, so any thread may use it at any time.</summary>
    public sealed class Dataset : TroikaObject
    {
        private Dataset(DatasetHandle handle, Context context, IReadOnlyList<SourceReader> readers)
            : base(handle, context)
        {
            Readers = readers;
        }

        /// <summary>Number, shape and targets of the samples.</summary>
        public unsafe DatasetInfo Info
        {
            get
            {
                troika_dataset_info info = troika_dataset_info.Default();
                Check(NativeMethods.troika_dataset_describe(Handle, &info, out troika_error error), ref error);
                return new DatasetInfo(&info);
            }
        }

        internal DatasetHandle Handle => (DatasetHandle)Live;

        /// <summary>The host's functions that samples come from. They keep what a function
        /// threw.</summary>
        internal IReadOnlyList<SourceReader> Readers { get; }

        /// <summary>Reads images and labels from two IDX files, the format of MNIST, plain or
        /// gzipped. Samples are f32 [c, h, w].</summary>
        /// <exception cref="TroikaException">NotFound, Io, Corrupt, or InvalidArgument, which names
        /// the option.</exception>
        public static unsafe Dataset OpenIdx(
            Context context, string imagesPath, string labelsPath, DatasetOptions options = null)
        {
            byte[] images = Utf8.Bytes(imagesPath, "Dataset.OpenIdx: imagesPath");
            byte[] labels = Utf8.Bytes(labelsPath, "Dataset.OpenIdx: labelsPath");
            using (var scope = new NativeScope())
            {
                troika_dataset_options raw;
                (options ?? new DatasetOptions()).WriteTo(&raw, scope);
                Status status = NativeMethods.troika_dataset_open_idx(
                    HandleOf(context), images, labels, &raw, out DatasetHandle handle, out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Reads a folder with the IDX files of MNIST or one of its relatives, or with the
        /// binary files of CIFAR. <paramref name="split"/> is "train" or "test".</summary>
        /// <exception cref="TroikaException">As <see cref="OpenIdx"/>; InvalidArgument for another
        /// split.</exception>
        public static unsafe Dataset OpenDirectory(
            Context context, string directory, string split, DatasetOptions options = null)
        {
            byte[] folder = Utf8.Bytes(directory, "Dataset.OpenDirectory: directory");
            byte[] part = Utf8.Bytes(split, "Dataset.OpenDirectory: split");
            using (var scope = new NativeScope())
            {
                troika_dataset_options raw;
                (options ?? new DatasetOptions()).WriteTo(&raw, scope);
                Status status = NativeMethods.troika_dataset_open_directory(
                    HandleOf(context), folder, part, &raw, out DatasetHandle handle, out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Copies samples f32 [n, dims...] with one class per sample.</summary>
        public static unsafe Dataset CreateArrays(Context context, float[] inputs, long[] dims, int[] labels)
        {
            Argument.NotNull(labels, "Dataset.CreateArrays: labels");
            long n = CountSamples(inputs, dims, labels.LongLength);
            fixed (float* from = inputs)
            fixed (int* classes = labels)
            {
                Status status = NativeMethods.troika_dataset_create_arrays(
                    HandleOf(context), from, dims, dims.Length, n, classes, null, 1, out DatasetHandle handle,
                    out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Copies samples f32 [n, dims...] with <paramref name="valueSize"/> values per
        /// sample, for mean squared error.</summary>
        public static unsafe Dataset CreateArrays(
            Context context, float[] inputs, long[] dims, float[] values, long valueSize = 1)
        {
            Argument.NotNull(values, "Dataset.CreateArrays: values");
            if (valueSize < 1)
                throw new ArgumentException("Dataset.CreateArrays: valueSize is " + valueSize + ", need at least 1");
            long n = CountSamples(inputs, dims, values.LongLength / valueSize);
            Argument.Equal(values.LongLength, n * valueSize, "Dataset.CreateArrays: values", "elements");
            fixed (float* from = inputs)
            fixed (float* targets = values)
            {
                Status status = NativeMethods.troika_dataset_create_arrays(
                    HandleOf(context), from, dims, dims.Length, n, null, targets, valueSize, out DatasetHandle handle,
                    out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Creates samples f32 [dims...] in [-1, 1) for tests. Sample i has the label i
        /// modulo <paramref name="classes"/>, and a network can learn it.</summary>
        public static Dataset CreateSynthetic(Context context, long[] dims, long n, long classes, ulong seed = 0)
        {
            Argument.NotNull(dims, "Dataset.CreateSynthetic: dims");
            Status status = NativeMethods.troika_dataset_create_synthetic(
                HandleOf(context), dims, dims.Length, n, classes, seed, out DatasetHandle handle, out troika_error error);
            return Made(context, status, handle, ref error);
        }

        /// <summary>Copies one stream of bytes, each a token, and cuts it into windows of
        /// <paramref name="steps"/> tokens. The label of each token is the token after
        /// it.</summary>
        public static unsafe Dataset CreateTokenStream(Context context, byte[] tokens, long steps)
        {
            fixed (byte* from = Argument.NotNull(tokens, "Dataset.CreateTokenStream: tokens"))
                return CreateTokenStream(context, from, Dtype.U8, tokens.LongLength, steps);
        }

        /// <summary>Copies one stream of tokens, as the other overload does.</summary>
        public static unsafe Dataset CreateTokenStream(Context context, int[] tokens, long steps)
        {
            fixed (int* from = Argument.NotNull(tokens, "Dataset.CreateTokenStream: tokens"))
                return CreateTokenStream(context, from, Dtype.I32, tokens.LongLength, steps);
        }

        /// <summary>Copies sequences of bytes [n, steps], each byte a token, and their labels: one
        /// per sequence, or one per token. A label may be <paramref name="ignoreIndex"/>, which a
        /// trainer must have too.</summary>
        public static unsafe Dataset CreateTokens(
            Context context, byte[] tokens, long steps, int[] labels, long? ignoreIndex = null)
        {
            fixed (byte* from = Argument.NotNull(tokens, "Dataset.CreateTokens: tokens"))
                return CreateTokens(context, from, Dtype.U8, tokens.LongLength, steps, labels, ignoreIndex);
        }

        /// <summary>Copies sequences of tokens, as the other overload does.</summary>
        public static unsafe Dataset CreateTokens(
            Context context, int[] tokens, long steps, int[] labels, long? ignoreIndex = null)
        {
            fixed (int* from = Argument.NotNull(tokens, "Dataset.CreateTokens: tokens"))
                return CreateTokens(context, from, Dtype.I32, tokens.LongLength, steps, labels, ignoreIndex);
        }

        /// <summary>Creates a dataset from arrays of any type, copied or borrowed. Samples are
        /// converted when a batch is read.</summary>
        /// <exception cref="ArgumentException">Arrays that do not fit together.</exception>
        public static unsafe Dataset CreateFrom(Context context, Arrays arrays)
        {
            Argument.NotNull(arrays, "Dataset.CreateFrom: arrays");
            ContextHandle of = HandleOf(context);
            using (var scope = new NativeScope())
            {
                troika_arrays raw;
                arrays.WriteTo(&raw, scope);
                Status status = NativeMethods.troika_dataset_create_from(
                    of, &raw, out DatasetHandle handle, out troika_error error);
                if (status < Status.Ok)
                    Callbacks.OnRelease(raw.user);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Creates a dataset that a function of the host reads.</summary>
        public static unsafe Dataset CreateCallback(Context context, Source source)
        {
            Argument.NotNull(source, "Dataset.CreateCallback: source");
            ContextHandle of = HandleOf(context);
            using (var scope = new NativeScope())
            {
                troika_source raw;
                source.WriteTo(&raw, scope);
                var reader = new SourceReader(source);
                raw.user = Callbacks.Keep(reader);
                Status status = NativeMethods.troika_dataset_create_callback(
                    of, &raw, out DatasetHandle handle, out troika_error error);
                if (status < Status.Ok)
                    Callbacks.OnRelease(raw.user);
                context.Check(status, ref error);
                return new Dataset(handle, context, new[] { reader });
            }
        }

        /// <summary>Returns the samples at <paramref name="indices"/>, in that order. No sample is
        /// copied.</summary>
        public Dataset Subset(IEnumerable<long> indices)
        {
            long[] list = Argument.NotNull(indices, "Dataset.Subset: indices").ToArray();
            Status status = NativeMethods.troika_dataset_subset(
                Handle, list, list.Length, out DatasetHandle subset, out troika_error error);
            Check(status, ref error);
            return new Dataset(subset, Context, Readers);
        }

        /// <summary>Returns the samples with weights in losses, one for each, for trainers with
        /// SampleWeights. No sample is copied.</summary>
        /// <exception cref="TroikaException">InvalidArgument: another number of weights, a weight
        /// below 0 or not finite, a stream.</exception>
        public unsafe Dataset Weigh(IEnumerable<float> weights)
        {
            float[] list = Argument.NotNull(weights, "Dataset.Weigh: weights").ToArray();
            fixed (float* first = list)
            {
                Status status = NativeMethods.troika_dataset_weigh(
                    Handle, first, list.Length, out DatasetHandle weighted, out troika_error error);
                Check(status, ref error);
                return new Dataset(weighted, Context, Readers);
            }
        }

        /// <summary>Cuts the dataset into parts of these sizes. No sample is in two of them, and
        /// none is copied. A shuffle depends only on <paramref name="seed"/>.</summary>
        public Dataset[] Split(IEnumerable<long> sizes, bool shuffle = false, ulong seed = 0)
        {
            long[] list = Argument.NotNull(sizes, "Dataset.Split: sizes").ToArray();
            var parts = new IntPtr[list.Length];
            Status status = NativeMethods.troika_dataset_split(
                Handle, list, list.Length, shuffle ? 1 : 0, seed, parts, out troika_error error);
            Check(status, ref error);
            return Array.ConvertAll(parts, part => new Dataset(Owned(part), Context, Readers));
        }

        /// <summary>Returns the samples of several datasets, one after another. No sample is
        /// copied.</summary>
        public static Dataset Concat(params Dataset[] datasets)
        {
            if (Argument.NotNull(datasets, "Dataset.Concat: datasets").Length == 0)
                throw new ArgumentException("Dataset.Concat: datasets is empty, need at least one");
            using (var scope = new NativeScope())
            {
                IntPtr[] handles = scope.HoldAll(datasets, "Dataset.Concat: datasets");
                Status status = NativeMethods.troika_dataset_concat(
                    handles, handles.Length, out DatasetHandle all, out troika_error error);
                datasets[0].Check(status, ref error);
                SourceReader[] readers = datasets.SelectMany(dataset => dataset.Readers).Distinct().ToArray();
                return new Dataset(all, datasets[0].Context, readers);
            }
        }

        private static ContextHandle HandleOf(Context context) => Argument.NotNull(context, "Dataset: context").Handle;

        private static Dataset Made(Context context, Status status, DatasetHandle handle, ref troika_error error)
        {
            context.Check(status, ref error);
            return new Dataset(handle, context, new SourceReader[0]);
        }

        private static DatasetHandle Owned(IntPtr value)
        {
            var handle = new DatasetHandle();
            handle.Own(value);
            return handle;
        }

        private static long CountSamples(float[] inputs, long[] dims, long n)
        {
            Argument.NotNull(inputs, "Dataset.CreateArrays: inputs");
            long size = Elements.Count(Argument.NotNull(dims, "Dataset.CreateArrays: dims"), "Dataset.CreateArrays: dims");
            Argument.Equal(inputs.LongLength, n * size, "Dataset.CreateArrays: inputs", "elements");
            return n;
        }

        private static unsafe Dataset CreateTokenStream(Context context, void* from, Dtype dtype, long count, long steps)
        {
            Status status = NativeMethods.troika_dataset_create_token_stream(
                HandleOf(context), from, (int)dtype, count, steps, out DatasetHandle handle, out troika_error error);
            return Made(context, status, handle, ref error);
        }

        private static unsafe Dataset CreateTokens(
            Context context, void* from, Dtype dtype, long count, long steps, int[] labels, long? ignoreIndex)
        {
            Argument.NotNull(labels, "Dataset.CreateTokens: labels");
            if (steps < 1)
                throw new ArgumentException("Dataset.CreateTokens: steps is " + steps + ", need at least 1");
            long n = count / steps;
            Argument.Equal(count, n * steps, "Dataset.CreateTokens: tokens", "elements");
            long labelSize = n == 0 ? 1 : labels.LongLength / n;
            Argument.Equal(labels.LongLength, n * labelSize, "Dataset.CreateTokens: labels", "elements");
            fixed (int* classes = labels)
            {
                Status status = NativeMethods.troika_dataset_create_tokens(
                    HandleOf(context), from, (int)dtype, n, steps, classes, labelSize, ignoreIndex ?? Library.Unset,
                    out DatasetHandle handle, out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }
    }
}
