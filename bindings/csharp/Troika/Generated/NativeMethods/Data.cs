// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills options as TROIKA_DATASET_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_dataset_options_init(
            troika_dataset_options* options, uint struct_size);

        /// <summary>Reads images and labels from two IDX files (the format of MNIST), plain or
        /// gzipped: images u8 [n, h, w] or [n, c, h, w], labels u8 [n]. Samples are f32 [c, h, w].
        /// If labels_path is NULL or empty, samples have no targets: they are for
        /// prediction.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset with troika_dataset_destroy.</para>
        /// <para>Errors:</para>
        /// <para>- NOT_FOUND (no such file), IO.</para>
        /// <para>- CORRUPT: not IDX of u8, truncated, trailing bytes, different counts of images
        /// and labels.</para>
        /// <para>- INVALID_ARGUMENT (the message names the option), OUT_OF_MEMORY.</para>
        /// <para>Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_open_idx(
            ContextHandle context, byte[] images_path, byte[] labels_path,
            troika_dataset_options* options, out DatasetHandle out_dataset, out troika_error error);

        /// <summary>Reads a dataset from a directory with files of a known set. split is "train" or
        /// "test". Files are plain or have .gz at the end of their names.</summary>
        /// <remarks>
        /// <para>- MNIST and its relatives: train-images-idx3-ubyte, train-labels-idx1-ubyte,
        /// t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte.</para>
        /// <para>- CIFAR-10: data_batch_1.bin to data_batch_5.bin and test_batch.bin, in the
        /// directory or in its folder cifar-10-batches-bin. Samples are f32 [3, 32, 32].</para>
        /// <para>- CIFAR-100: train.bin and test.bin, in the directory or in its folder
        /// cifar-100-binary. Samples are f32 [3, 32, 32]; labels are the fine ones.</para>
        /// <para>A directory with IDX files is read as such, whatever else it has.</para>
        /// <para>Owned: destroy *out_dataset. Errors: those of troika_dataset_open_idx; CORRUPT
        /// also for files of CIFAR with a part of a record or a label of no class; INVALID_ARGUMENT
        /// for another split, or files of both CIFAR-10 and CIFAR-100. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_open_directory(
            ContextHandle context, byte[] directory, byte[] split, troika_dataset_options* options,
            out DatasetHandle out_dataset, out troika_error error);

        /// <summary>Creates a dataset from arrays in host memory, which are copied. inputs is f32
        /// [n, dims...]. Targets are either labels i32 [n] (classes, for cross-entropy) or values
        /// f32 [n, value_size] (for mean squared error); the other one is NULL.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (rank, a dimension, n or a
        /// label below 0, value_size below 1, both targets or none), OUT_OF_MEMORY. Any
        /// thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_create_arrays(
            ContextHandle context, float* inputs, long[] dims, int rank, long n, int* labels,
            float* values, long value_size, out DatasetHandle out_dataset, out troika_error error);

        /// <summary>Creates a synthetic dataset for tests and benchmarks: n samples f32 [dims...]
        /// in [-1, 1). A sample depends only on (seed, sample, its label), and sample i has the
        /// label i modulo classes. The samples of a label are around a centre of their own, so a
        /// network can learn them.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (rank, a dimension, n below
        /// 0, classes below 1), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_create_synthetic(
            ContextHandle context, long[] dims, int rank, long n, long classes, ulong seed,
            out DatasetHandle out_dataset, out troika_error error);

        /// <summary>Creates a dataset for a language model from one stream of count tokens in host
        /// memory, which is copied. dtype is the type of tokens: TROIKA_DTYPE_U8 (a text; each byte
        /// is a token) or TROIKA_DTYPE_I32. The stream is cut into windows of steps tokens, one
        /// after another: (count - 1) / steps samples i32 [steps], rounded down. The label of each
        /// token is the token after it: labels i32 [steps] per sample. Tokens that are left at the
        /// end belong to no sample.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (dtype, count below 0, steps
        /// below 1, a token below 0), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_create_token_stream(
            ContextHandle context, void* tokens, int dtype, long count, long steps,
            out DatasetHandle out_dataset, out troika_error error);

        /// <summary>Creates a dataset from token sequences in host memory, which are copied: tokens
        /// [n, steps] of TROIKA_DTYPE_U8 or TROIKA_DTYPE_I32, and labels i32 [n, label_size].
        /// label_size is 1 (one class per sequence) or steps (one per token). A label may also be
        /// ignore_index; a trainer must then have the same ignore_index. TROIKA_UNSET: no such
        /// label.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (dtype, n below 0, steps
        /// below 1, another label_size, a token below 0, a label below 0 that is not ignore_index),
        /// OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_create_tokens(
            ContextHandle context, void* tokens, int dtype, long n, long steps, int* labels,
            long label_size, long ignore_index, out DatasetHandle out_dataset,
            out troika_error error);

        /// <summary>Fills arrays as TROIKA_ARRAYS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_arrays_init(troika_arrays* arrays, uint struct_size);

        /// <summary>Creates a dataset from arrays of any type in host memory, copied or borrowed.
        /// Samples are converted when a batch is read, so the dataset takes no more memory than the
        /// arrays. Elements may be at any address. A dataset without targets cannot be trained on
        /// or evaluated.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (the message names the
        /// field; a label or token below 0 or above 2^31 - 1), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_create_from(
            ContextHandle context, troika_arrays* arrays, out DatasetHandle out_dataset,
            out troika_error error);

        /// <summary>Fills source as TROIKA_SOURCE_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_source_init(troika_source* source, uint struct_size);

        /// <summary>Creates a dataset that the host reads by a callback: of n samples in any order,
        /// or a stream. Loaders prefetch from it as from any other. The labels and tokens that the
        /// callback writes are checked: one outside its range is TROIKA_ERROR_CALLBACK. A loader of
        /// a stream cannot shuffle, and does not know its number of batches. An epoch ends with the
        /// stream. GPUs do not keep the samples: a callback may write other samples each time, such
        /// as augmented ones.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (the message names the
        /// field), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_create_callback(
            ContextHandle context, troika_source* source, out DatasetHandle out_dataset,
            out troika_error error);

        /// <summary>Creates a dataset with the samples of another one at indices, in that order; an
        /// index may occur several times. Nothing is copied except the indices. The dataset keeps
        /// the other one's classes and words.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (a count below 0, an index
        /// outside the dataset, a stream), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_subset(
            DatasetHandle dataset, long[] indices, long count, out DatasetHandle out_dataset,
            out troika_error error);

        /// <summary>Cuts a dataset into parts datasets of sizes[i] samples: no sample is in two of
        /// them. With shuffle 1 the samples are drawn in an order that depends only on seed, with 0
        /// they are in the dataset's order. Samples that are left belong to no part. No sample is
        /// copied.</summary>
        /// <remarks>
        /// <para>Owned: destroy each of out_datasets[0 .. parts-1]; on an error all are NULL.
        /// Errors: INVALID_ARGUMENT (parts below 1, a size below 0, more samples than there are,
        /// another shuffle, a stream), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_split(
            DatasetHandle dataset, long[] sizes, int parts, int shuffle, ulong seed,
            [Out] IntPtr[] out_datasets, out troika_error error);

        /// <summary>Creates a dataset with the samples of several datasets, one after another.
        /// Their samples and targets must have the same form; classes and words become the largest.
        /// No sample is copied.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (dataset_count below 1,
        /// forms that differ, a stream), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_concat(
            IntPtr[] datasets, int dataset_count, out DatasetHandle out_dataset,
            out troika_error error);

        /// <summary>Creates a dataset with the samples of another one, each with a weight in
        /// losses. Sample i has weights[i], 0 or from 1e-15 to 1e15, instead of its earlier weight.
        /// count is the number of the dataset's samples. A trainer takes such samples if its option
        /// sample_weights is 1. Subsets and parts keep the weights of their samples. In a
        /// concatenation, samples without a weight have 1. The weights are copied, the samples are
        /// not.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_dataset. Errors: INVALID_ARGUMENT (another count, another
        /// weight, a stream), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_weigh(
            DatasetHandle dataset, float* weights, long count, out DatasetHandle out_dataset,
            out troika_error error);

        /// <summary>Fills info as TROIKA_DATASET_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_dataset_info_init(
            troika_dataset_info* info, uint struct_size);

        /// <summary>Describes a dataset. Errors: INVALID_ARGUMENT (struct_size). Any
        /// thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_dataset_describe(
            DatasetHandle dataset, troika_dataset_info* out_info, out troika_error error);

        /// <summary>Gives up the caller's hold on a dataset. NULL is ignored. Never fails. Any
        /// thread, but not while another is inside a call with the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_dataset_destroy(IntPtr dataset);

        /// <summary>Fills options as TROIKA_LOADER_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_loader_options_init(
            troika_loader_options* options, uint struct_size);

        /// <summary>Creates a loader of a dataset, at batch 0 of epoch 0. The memory for all its
        /// batches is allocated here, so no later call fails because memory is short.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_loader with troika_loader_destroy. Errors: INVALID_ARGUMENT
        /// (the message names the field), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_loader_create(
            DatasetHandle dataset, troika_loader_options* options, out LoaderHandle out_loader,
            out troika_error error);

        /// <summary>Returns the next batch of the epoch in *out_batch. After the last batch it
        /// returns END_OF_DATA once, with *out_batch NULL; then the next epoch begins. Returns
        /// STOPPED, with *out_batch NULL, if the dataset's callback wants to stop, or has destroyed
        /// the loader; a loader that is left keeps its position.</summary>
        /// <remarks>
        /// <para>Borrowed until the next call on the loader, or its destruction: *out_batch, which
        /// the caller need not destroy. Errors: BUSY; CALLBACK, after which the loader keeps its
        /// position. One thread per loader at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_loader_next(
            LoaderHandle loader, out IntPtr out_batch, out troika_error error);

        /// <summary>Fills position as TROIKA_LOADER_POSITION_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_loader_position_init(
            troika_loader_position* position, uint struct_size);

        /// <summary>Returns the position of a loader. Errors: BUSY. One thread per loader at a
        /// time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_loader_tell(
            LoaderHandle loader, troika_loader_position* out_position, out troika_error error);

        /// <summary>Moves a loader to a position, to resume in the middle of an epoch. batch may be
        /// the number of batches in an epoch: the end of the epoch. A stream takes any batch and
        /// batches, and asks the host for the samples from there on.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (an epoch or batch below 0, an epoch above 2^62, a batch
        /// beyond the epoch's end, batches of another loader), BUSY. One thread per loader at a
        /// time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_loader_seek(
            LoaderHandle loader, troika_loader_position* position, out troika_error error);

        /// <summary>Gives up the caller's hold on a loader; the last hold ends the loader's thread.
        /// If that thread is in a callback of the host, the call waits until the callback returns.
        /// NULL is ignored. Never fails. Any thread, but not while another is inside a call with
        /// the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_loader_destroy(IntPtr loader);

        /// <summary>Creates a batch from the caller's own tensors, which may be on any devices and
        /// are copied. targets may be NULL, for prediction and for own_loss of
        /// troika_trainer_forward.</summary>
        /// <remarks>
        /// <para>- inputs: f32 [n, ...], or i32 [n, ...] (tokens).</para>
        /// <para>- targets: i32, i64 or u8 [n] (classes, one per sample) or [n, ...] (classes, one
        /// per position, in the order of positions), or f32 [n, k] (values).</para>
        /// <para>Owned: destroy *out_batch with troika_batch_destroy. Errors: INVALID_ARGUMENT
        /// (dtypes or shapes), OUT_OF_MEMORY. Threads: reads both tensors.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_batch_create(
            TensorHandle inputs, TensorHandle targets, out BatchHandle out_batch,
            out troika_error error);

        /// <summary>Creates a batch as troika_batch_create does. Its samples have weights in
        /// losses: weights is f32 [n], each 0 or from 1e-15 to 1e15. A trainer takes such a batch
        /// if its option sample_weights is 1.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_batch with troika_batch_destroy. Errors: those of
        /// troika_batch_create; INVALID_ARGUMENT (weights of another type, shape or size). Threads:
        /// reads the tensors.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_batch_create_weighted(
            TensorHandle inputs, TensorHandle targets, TensorHandle weights,
            out BatchHandle out_batch, out troika_error error);

        /// <summary>Copies a batch, such as a loader's batch that the caller wants to keep. A step
        /// on the copy of a loader's batch counts as one on the batch: a training state then has
        /// the place after the batch.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_batch with troika_batch_destroy. Errors: INVALID_ARGUMENT (a
        /// batch that its loader moved past), OUT_OF_MEMORY. Threads: reads the batch.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_batch_copy(
            BatchHandle batch, out BatchHandle out_batch, out troika_error error);

        /// <summary>Fills info as TROIKA_BATCH_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_batch_info_init(
            troika_batch_info* info, uint struct_size);

        /// <summary>Describes a batch and lends its host memory, by the pointers in *out_info.
        /// Those are borrowed until the batch is destroyed; a loader's batch, until the next call
        /// on its loader.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (struct_size, a batch that its loader moved past).
        /// Threads: reads the batch.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_batch_describe(
            BatchHandle batch, troika_batch_info* out_info, out troika_error error);

        /// <summary>Gives up the caller's hold on a batch that the caller owns. NULL and a loader's
        /// batch are ignored. Never fails. Any thread, but not while another is inside a call with
        /// the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_batch_destroy(IntPtr batch);
    }
}
