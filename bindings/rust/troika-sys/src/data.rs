// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::{c_char, c_void};

/// The object that [`troika_dataset`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_dataset_s {
    _private: [u8; 0],
}

/// Samples and their targets: in host memory, or read by a callback of the host. Counted.
pub type troika_dataset = *mut troika_dataset_s;

/// The object that [`troika_loader`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_loader_s {
    _private: [u8; 0],
}

/// Batches of a dataset, epoch after epoch. Counted.
pub type troika_loader = *mut troika_loader_s;

/// The object that [`troika_batch`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_batch_s {
    _private: [u8; 0],
}

/// A batch: inputs \[batch, ...\], f32 or tokens i32, and targets. Counted.
pub type troika_batch = *mut troika_batch_s;

/// Reads samples of the host. Returns the number of samples that were written: n; a stream may
/// return fewer at the end of the epoch, and 0 after it. Below 0 is a failure: error then holds the
/// host's message, and its status is [`TROIKA_STOPPED`](crate::TROIKA_STOPPED) to stop the call
/// that waits for the samples, or else the call returns
/// [`TROIKA_ERROR_CALLBACK`](crate::TROIKA_ERROR_CALLBACK) with the message.
///
/// An exception of C++ that leaves the callback is a failure with the exception's text. After a
/// failure the loader is at the same batch, and asks again when the next call wants the batch.
///
/// Called on a loader's own thread, or on the thread that uses a loader without prefetch. Several
/// threads may call it at once if several loaders read the dataset. With prefetch it runs ahead,
/// beyond the end of an epoch too. It must not call the library with the loader that waits for it,
/// except [`troika_loader_destroy`](crate::troika_loader_destroy). Destroying a loader on another
/// thread waits until the callback returns.
pub type troika_read_function = Option<
    unsafe extern "C" fn(
        request: *const troika_read_request,
        error: *mut troika_error,
        user: *mut c_void,
    ) -> i64,
>;

/// Arrays of samples and targets. Begin with `TROIKA_ARRAYS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_arrays {
    /// sizeof([`troika_arrays`](crate::troika_arrays)).
    pub struct_size: u32,
    /// Type of inputs: [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32) (default),
    /// [`TROIKA_DTYPE_F64`](crate::TROIKA_DTYPE_F64),
    /// [`TROIKA_DTYPE_F16`](crate::TROIKA_DTYPE_F16),
    /// [`TROIKA_DTYPE_BF16`](crate::TROIKA_DTYPE_BF16),
    /// [`TROIKA_DTYPE_U8`](crate::TROIKA_DTYPE_U8), [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32)
    /// or [`TROIKA_DTYPE_I64`](crate::TROIKA_DTYPE_I64).
    pub dtype: i32,
    /// \[n, dims...\], row-major. Must be set.
    pub inputs: *const c_void,
    /// Shape of a sample: rank sizes. Must be set. Copied.
    pub dims: *const i64,
    /// 0 to [`TROIKA_MAX_RANK`](crate::TROIKA_MAX_RANK) - 1; with 0 dims may be NULL.
    pub rank: i32,
    /// 1: samples are tokens; dtype is [`TROIKA_DTYPE_U8`](crate::TROIKA_DTYPE_U8),
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32) or
    /// [`TROIKA_DTYPE_I64`](crate::TROIKA_DTYPE_I64). 0 (default): samples are numbers, which
    /// become f32.
    pub tokens: i32,
    /// Samples.
    pub n: i64,
    /// \[n, `target_size`\], row-major. NULL: samples have no targets, and serve only to predict.
    pub targets: *const c_void,
    /// Type of targets: [`TROIKA_DTYPE_U8`](crate::TROIKA_DTYPE_U8),
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32) or
    /// [`TROIKA_DTYPE_I64`](crate::TROIKA_DTYPE_I64) for labels;
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32) or
    /// [`TROIKA_DTYPE_F64`](crate::TROIKA_DTYPE_F64) for values.
    pub target_dtype: i32,
    /// 1: the arrays are not copied. The caller must not change them until destroy is called.
    /// Default 0.
    pub borrow: i32,
    /// Labels or values of a sample; default 1.
    pub target_size: i64,
    /// A number x becomes (x - mean) / std. A u8 number p is x = p / 255. Computed in f32 for
    /// [`TROIKA_DTYPE_U8`](crate::TROIKA_DTYPE_U8), [`TROIKA_DTYPE_F16`](crate::TROIKA_DTYPE_F16),
    /// [`TROIKA_DTYPE_BF16`](crate::TROIKA_DTYPE_BF16) and
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32), in f64 for other types. Default 0; tokens
    /// need 0 and 1.
    pub mean: f64,
    /// Above 0; default 1.
    pub std: f64,
    /// A label that weighs nothing; [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): none.
    pub ignore_index: i64,
    /// Called once with user when the library no longer needs the arrays: if they are not borrowed,
    /// before the call returns; otherwise by the call or the thread that gives up the last hold. If
    /// the call fails, it is not called. NULL: no call.
    pub destroy: troika_destroy_function,
    /// Passed to destroy.
    pub user: *mut c_void,
}

/// Description of a batch. Filled by [`troika_batch_describe`](crate::troika_batch_describe).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_batch_info {
    /// Set by the caller to sizeof([`troika_batch_info`](crate::troika_batch_info)).
    pub struct_size: u32,
    /// Rank of the inputs, including the batch.
    pub rank: i32,
    /// Samples.
    pub n: i64,
    /// Shape of the inputs, \[n, ...\].
    pub dims: [i64; 8],
    /// Borrowed: f32, row-major; NULL if inputs are tokens.
    pub inputs: *const f32,
    /// Borrowed: i32 \[n, `label_size`\]; NULL without labels.
    pub labels: *const i32,
    /// Borrowed: f32 \[n, `value_size`\]; NULL without values.
    pub values: *const f32,
    /// Values per sample; 0 without values.
    pub value_size: i64,
    /// Borrowed: i32, row-major; NULL if inputs are f32.
    pub tokens: *const i32,
    /// Labels per sample; 0 without labels.
    pub label_size: i64,
    /// Borrowed: f32 \[n\], of the samples; NULL: 1 each.
    pub weights: *const f32,
}

/// Description of a dataset. Filled by [`troika_dataset_describe`](crate::troika_dataset_describe).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_dataset_info {
    /// Set by the caller to sizeof([`troika_dataset_info`](crate::troika_dataset_info)).
    pub struct_size: u32,
    /// Rank of a sample.
    pub rank: i32,
    /// Samples; -1 for a stream.
    pub n: i64,
    /// Shape of a sample, such as {1, 28, 28}.
    pub dims: [i64; 8],
    /// The largest label + 1, without ignored labels. In a stream of tokens: words. A dataset of a
    /// callback has the host's number. If targets are no labels: 0.
    pub classes: i64,
    /// Labels per sample; 0 if targets are no labels.
    pub label_size: i64,
    /// Tokens: the largest token + 1. 0 for other samples.
    pub words: i64,
    /// Type of samples: [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32), or
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32) for tokens.
    pub dtype: i32,
    /// 0.
    pub reserved: i32,
}

/// Transforms of image datasets. Begin with `TROIKA_DATASET_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_dataset_options {
    /// sizeof([`troika_dataset_options`](crate::troika_dataset_options)).
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// Bilinear resize to this height (pixel centres, no antialiasing), 1 to 65535, such as the
    /// tutorial's 96x96; unset: none.
    pub resize_height: i64,
    /// As `resize_height`; set both or none.
    pub resize_width: i64,
    /// A u8 pixel p becomes (p / 255 - mean) / std; default 0.
    pub mean: f64,
    /// Default 1; above 0.
    pub std: f64,
}

/// Options of a loader. Begin with `TROIKA_LOADER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_loader_options {
    /// sizeof([`troika_loader_options`](crate::troika_loader_options)).
    pub struct_size: u32,
    /// 1: the order is a function of (seed, epoch); 0 (default): the dataset's order.
    pub shuffle: i32,
    /// Samples per batch, for all devices together. Must be set.
    pub batch: i64,
    /// 1: leaves out a last batch that is smaller than batch; 0 (default): returns it.
    pub drop_last: i32,
    /// Batches that the loader's own thread prepares ahead, 0 to 1024; default 2; 0: no thread.
    pub prefetch: i32,
    /// Seed of the shuffle, of weighted sampling, and of flip and crop; default 0.
    pub seed: u64,
    /// Weighted sampling: n weights, one per sample of the dataset, at least 0 and not all 0. Each
    /// place of an epoch draws a sample with a probability in proportion to its weight, with
    /// replacement, as a function of (seed, epoch). Excludes shuffle. NULL (default): none. Copied.
    pub weights: *const f64,
    /// Weighted sampling: samples of an epoch; 0 (default): those of the dataset.
    pub epoch_samples: i64,
    /// Reads only this process's share of each batch, for a loop of the caller's own. The samples
    /// of a batch are divided in their order, and the first ranks have one more if they do not
    /// divide evenly. A process may get none: a batch of 0 samples. All processes see the same
    /// number of batches. A trainer that has the group divides any loader by its own devices. NULL
    /// (default): whole batches.
    pub group: troika_group,
    /// 1: each sample is mirrored left to right with probability 1/2. Only for samples f32 \[c, h,
    /// w\]. Random numbers are a function of (seed, epoch, place in the epoch), so each epoch has
    /// other samples, and a resumed epoch the same. GPUs do not keep the samples. 0 (default):
    /// none.
    pub flip: i32,
    /// N: each sample is shifted by -N to N pixels along its height, and along its width. Pixels
    /// beyond an edge are those before the edge, mirrored (as numpy.pad does in its mode
    /// "reflect"). N is below the height and the width. Otherwise as flip; 0 (default): none.
    pub crop: i32,
}

/// The position of a loader: the batch that [`troika_loader_next`](crate::troika_loader_next)
/// returns next.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_loader_position {
    /// sizeof([`troika_loader_position`](crate::troika_loader_position)).
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// From 0.
    pub epoch: i64,
    /// Batch within the epoch, from 0.
    pub batch: i64,
    /// Batches in an epoch. 0 in [`troika_loader_seek`](crate::troika_loader_seek): not known. For
    /// a stream: those of the last epoch that has ended, and 0 before.
    pub batches: i64,
}

/// Samples that the host is asked to write. Borrowed until the callback returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_read_request {
    /// The bytes that the library filled.
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// Samples to write, at least 1.
    pub n: i64,
    /// Indices of these samples; NULL for a stream.
    pub indices: *const i64,
    /// A stream: the loader's epoch. Otherwise 0.
    pub epoch: i64,
    /// A stream: samples of the epoch that come before these. 0 begins the epoch, also again. After
    /// [`troika_loader_seek`](crate::troika_loader_seek) it may be any multiple of the batch size,
    /// even beyond the end. Otherwise 0.
    pub first: i64,
    /// To be written: \[n, dims...\], f32, or i32 for tokens.
    pub inputs: *mut c_void,
    /// To be written: \[n, `label_size`\]; NULL without labels.
    pub labels: *mut i32,
    /// To be written: \[n, `value_size`\]; NULL without values.
    pub values: *mut f32,
}

/// A dataset of the host's own. Begin with `TROIKA_SOURCE_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_source {
    /// sizeof([`troika_source`](crate::troika_source)).
    pub struct_size: u32,
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32) (default), or
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32) for tokens.
    pub dtype: i32,
    /// Shape of a sample: rank sizes. Must be set. Copied.
    pub dims: *const i64,
    /// 0 to [`TROIKA_MAX_RANK`](crate::TROIKA_MAX_RANK) - 1; with 0 dims may be NULL.
    pub rank: i32,
    /// 0.
    pub reserved: i32,
    /// Samples, which are read in any order. -1: a stream of unknown length, which is read from its
    /// first sample to its last.
    pub n: i64,
    /// Above the largest label; default 0: targets are no labels.
    pub classes: i64,
    /// Above the largest token; must be set for tokens.
    pub words: i64,
    /// Labels of a sample, if classes is set; default 1.
    pub label_size: i64,
    /// Values of a sample; default 0: targets are no values. Only if classes is 0; if both are 0,
    /// samples have no targets.
    pub value_size: i64,
    /// A label that weighs nothing; [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): none.
    pub ignore_index: i64,
    /// Must be set.
    pub read: troika_read_function,
    /// Passed to read.
    pub user: *mut c_void,
    /// Called with user when the dataset ends, by the call or the thread that gives up the last
    /// hold. If the call fails, it is not called.
    pub user_destroy: troika_destroy_function,
}

extern "C" {
    /// Fills options as `TROIKA_DATASET_OPTIONS_INIT` does. Any thread.
    pub fn troika_dataset_options_init(options: *mut troika_dataset_options, struct_size: u32);

    /// Reads images and labels from two IDX files (the format of MNIST), plain or gzipped: images
    /// u8 \[n, h, w\] or \[n, c, h, w\], labels u8 \[n\]. Samples are f32 \[c, h, w\]. If
    /// `labels_path` is NULL or empty, samples have no targets: they are for prediction.
    ///
    /// Owned: destroy \*`out_dataset` with
    /// [`troika_dataset_destroy`](crate::troika_dataset_destroy).
    ///
    /// Errors:
    ///
    /// - NOT_FOUND (no such file), IO.
    /// - CORRUPT: not IDX of u8, truncated, trailing bytes, different counts of images and labels.
    /// - INVALID_ARGUMENT (the message names the option), OUT_OF_MEMORY.
    ///
    /// Any thread.
    pub fn troika_dataset_open_idx(
        context: troika_context,
        images_path: *const c_char,
        labels_path: *const c_char,
        options: *const troika_dataset_options,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads a dataset from a directory with files of a known set. split is "train" or "test".
    /// Files are plain or have .gz at the end of their names.
    ///
    /// - MNIST and its relatives: train-images-idx3-ubyte, train-labels-idx1-ubyte,
    ///   t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte.
    /// - CIFAR-10: `data_batch_1`.bin to `data_batch_5`.bin and `test_batch`.bin, in the directory
    ///   or in its folder cifar-10-batches-bin. Samples are f32 \[3, 32, 32\].
    /// - CIFAR-100: train.bin and test.bin, in the directory or in its folder cifar-100-binary.
    ///   Samples are f32 \[3, 32, 32\]; labels are the fine ones.
    ///
    /// A directory with IDX files is read as such, whatever else it has.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: those of
    /// [`troika_dataset_open_idx`](crate::troika_dataset_open_idx); CORRUPT also for files of CIFAR
    /// with a part of a record or a label of no class; INVALID_ARGUMENT for another split, or files
    /// of both CIFAR-10 and CIFAR-100. Any thread.
    pub fn troika_dataset_open_directory(
        context: troika_context,
        directory: *const c_char,
        split: *const c_char,
        options: *const troika_dataset_options,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a dataset from arrays in host memory, which are copied. inputs is f32 \[n,
    /// dims...\]. Targets are either labels i32 \[n\] (classes, for cross-entropy) or values f32
    /// \[n, `value_size`\] (for mean squared error); the other one is NULL.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (rank, a dimension, n or a label
    /// below 0, `value_size` below 1, both targets or none), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_create_arrays(
        context: troika_context,
        inputs: *const f32,
        dims: *const i64,
        rank: i32,
        n: i64,
        labels: *const i32,
        values: *const f32,
        value_size: i64,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a synthetic dataset for tests and benchmarks: n samples f32 \[dims...\] in \[-1, 1).
    /// A sample depends only on (seed, sample, its label), and sample i has the label i modulo
    /// classes. The samples of a label are around a centre of their own, so a network can learn
    /// them.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (rank, a dimension, n below 0,
    /// classes below 1), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_create_synthetic(
        context: troika_context,
        dims: *const i64,
        rank: i32,
        n: i64,
        classes: i64,
        seed: u64,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a dataset for a language model from one stream of count tokens in host memory, which
    /// is copied. dtype is the type of tokens: [`TROIKA_DTYPE_U8`](crate::TROIKA_DTYPE_U8) (a text;
    /// each byte is a token) or [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32). The stream is cut
    /// into windows of steps tokens, one after another: (count - 1) / steps samples i32 \[steps\],
    /// rounded down. The label of each token is the token after it: labels i32 \[steps\] per
    /// sample. Tokens that are left at the end belong to no sample.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (dtype, count below 0, steps below
    /// 1, a token below 0), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_create_token_stream(
        context: troika_context,
        tokens: *const c_void,
        dtype: i32,
        count: i64,
        steps: i64,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a dataset from token sequences in host memory, which are copied: tokens \[n, steps\]
    /// of [`TROIKA_DTYPE_U8`](crate::TROIKA_DTYPE_U8) or
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32), and labels i32 \[n, `label_size`\].
    /// `label_size` is 1 (one class per sequence) or steps (one per token). A label may also be
    /// `ignore_index`; a trainer must then have the same `ignore_index`.
    /// [`TROIKA_UNSET`](crate::TROIKA_UNSET): no such label.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (dtype, n below 0, steps below 1,
    /// another `label_size`, a token below 0, a label below 0 that is not `ignore_index`),
    /// OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_create_tokens(
        context: troika_context,
        tokens: *const c_void,
        dtype: i32,
        n: i64,
        steps: i64,
        labels: *const i32,
        label_size: i64,
        ignore_index: i64,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills arrays as `TROIKA_ARRAYS_INIT` does. Any thread.
    pub fn troika_arrays_init(arrays: *mut troika_arrays, struct_size: u32);

    /// Creates a dataset from arrays of any type in host memory, copied or borrowed. Samples are
    /// converted when a batch is read, so the dataset takes no more memory than the arrays.
    /// Elements may be at any address. A dataset without targets cannot be trained on or evaluated.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (the message names the field; a
    /// label or token below 0 or above 2^31 - 1), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_create_from(
        context: troika_context,
        arrays: *const troika_arrays,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills source as `TROIKA_SOURCE_INIT` does. Any thread.
    pub fn troika_source_init(source: *mut troika_source, struct_size: u32);

    /// Creates a dataset that the host reads by a callback: of n samples in any order, or a stream.
    /// Loaders prefetch from it as from any other. The labels and tokens that the callback writes
    /// are checked: one outside its range is
    /// [`TROIKA_ERROR_CALLBACK`](crate::TROIKA_ERROR_CALLBACK). A loader of a stream cannot
    /// shuffle, and does not know its number of batches. An epoch ends with the stream. GPUs do not
    /// keep the samples: a callback may write other samples each time, such as augmented ones.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (the message names the field),
    /// OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_create_callback(
        context: troika_context,
        source: *const troika_source,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a dataset with the samples of another one at indices, in that order; an index may
    /// occur several times. Nothing is copied except the indices. The dataset keeps the other one's
    /// classes and words.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (a count below 0, an index outside
    /// the dataset, a stream), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_subset(
        dataset: troika_dataset,
        indices: *const i64,
        count: i64,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Cuts a dataset into parts datasets of sizes\[i\] samples: no sample is in two of them. With
    /// shuffle 1 the samples are drawn in an order that depends only on seed, with 0 they are in
    /// the dataset's order. Samples that are left belong to no part. No sample is copied.
    ///
    /// Owned: destroy each of `out_datasets`\[0 .. parts-1\]; on an error all are NULL. Errors:
    /// INVALID_ARGUMENT (parts below 1, a size below 0, more samples than there are, another
    /// shuffle, a stream), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_split(
        dataset: troika_dataset,
        sizes: *const i64,
        parts: i32,
        shuffle: i32,
        seed: u64,
        out_datasets: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a dataset with the samples of several datasets, one after another. Their samples and
    /// targets must have the same form; classes and words become the largest. No sample is copied.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (`dataset_count` below 1, forms
    /// that differ, a stream), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_concat(
        datasets: *const troika_dataset,
        dataset_count: i32,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a dataset with the samples of another one, each with a weight in losses. Sample i
    /// has weights\[i\], 0 or from 1e-15 to 1e15, instead of its earlier weight. count is the
    /// number of the dataset's samples. A trainer takes such samples if its option `sample_weights`
    /// is 1. Subsets and parts keep the weights of their samples. In a concatenation, samples
    /// without a weight have 1. The weights are copied, the samples are not.
    ///
    /// Owned: destroy \*`out_dataset`. Errors: INVALID_ARGUMENT (another count, another weight, a
    /// stream), OUT_OF_MEMORY. Any thread.
    pub fn troika_dataset_weigh(
        dataset: troika_dataset,
        weights: *const f32,
        count: i64,
        out_dataset: *mut troika_dataset,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_DATASET_INFO_INIT` does. Any thread.
    pub fn troika_dataset_info_init(info: *mut troika_dataset_info, struct_size: u32);

    /// Describes a dataset. Errors: INVALID_ARGUMENT (`struct_size`). Any thread.
    pub fn troika_dataset_describe(
        dataset: troika_dataset,
        out_info: *mut troika_dataset_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a dataset. NULL is ignored. Never fails. Any thread, but not
    /// while another is inside a call with the same handle.
    pub fn troika_dataset_destroy(dataset: troika_dataset);

    /// Fills options as `TROIKA_LOADER_OPTIONS_INIT` does. Any thread.
    pub fn troika_loader_options_init(options: *mut troika_loader_options, struct_size: u32);

    /// Creates a loader of a dataset, at batch 0 of epoch 0. The memory for all its batches is
    /// allocated here, so no later call fails because memory is short.
    ///
    /// Owned: destroy \*`out_loader` with [`troika_loader_destroy`](crate::troika_loader_destroy).
    /// Errors: INVALID_ARGUMENT (the message names the field), OUT_OF_MEMORY. Any thread.
    pub fn troika_loader_create(
        dataset: troika_dataset,
        options: *const troika_loader_options,
        out_loader: *mut troika_loader,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns the next batch of the epoch in \*`out_batch`. After the last batch it returns
    /// END_OF_DATA once, with \*`out_batch` NULL; then the next epoch begins. Returns STOPPED, with
    /// \*`out_batch` NULL, if the dataset's callback wants to stop, or has destroyed the loader; a
    /// loader that is left keeps its position.
    ///
    /// Borrowed until the next call on the loader, or its destruction: \*`out_batch`, which the
    /// caller need not destroy. Errors: BUSY; CALLBACK, after which the loader keeps its position.
    /// One thread per loader at a time.
    pub fn troika_loader_next(
        loader: troika_loader,
        out_batch: *mut troika_batch,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills position as `TROIKA_LOADER_POSITION_INIT` does. Any thread.
    pub fn troika_loader_position_init(position: *mut troika_loader_position, struct_size: u32);

    /// Returns the position of a loader. Errors: BUSY. One thread per loader at a time.
    pub fn troika_loader_tell(
        loader: troika_loader,
        out_position: *mut troika_loader_position,
        error: *mut troika_error,
    ) -> troika_status;

    /// Moves a loader to a position, to resume in the middle of an epoch. batch may be the number
    /// of batches in an epoch: the end of the epoch. A stream takes any batch and batches, and asks
    /// the host for the samples from there on.
    ///
    /// Errors: INVALID_ARGUMENT (an epoch or batch below 0, an epoch above 2^62, a batch beyond the
    /// epoch's end, batches of another loader), BUSY. One thread per loader at a time.
    pub fn troika_loader_seek(
        loader: troika_loader,
        position: *const troika_loader_position,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a loader; the last hold ends the loader's thread. If that
    /// thread is in a callback of the host, the call waits until the callback returns. NULL is
    /// ignored. Never fails. Any thread, but not while another is inside a call with the same
    /// handle.
    pub fn troika_loader_destroy(loader: troika_loader);

    /// Creates a batch from the caller's own tensors, which may be on any devices and are copied.
    /// targets may be NULL, for prediction and for `own_loss` of
    /// [`troika_trainer_forward`](crate::troika_trainer_forward).
    ///
    /// - inputs: f32 \[n, ...\], or i32 \[n, ...\] (tokens).
    /// - targets: i32, i64 or u8 \[n\] (classes, one per sample) or \[n, ...\] (classes, one per
    ///   position, in the order of positions), or f32 \[n, k\] (values).
    ///
    /// Owned: destroy \*`out_batch` with [`troika_batch_destroy`](crate::troika_batch_destroy).
    /// Errors: INVALID_ARGUMENT (dtypes or shapes), OUT_OF_MEMORY. Threads: reads both tensors.
    pub fn troika_batch_create(
        inputs: troika_tensor,
        targets: troika_tensor,
        out_batch: *mut troika_batch,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a batch as [`troika_batch_create`](crate::troika_batch_create) does. Its samples
    /// have weights in losses: weights is f32 \[n\], each 0 or from 1e-15 to 1e15. A trainer takes
    /// such a batch if its option `sample_weights` is 1.
    ///
    /// Owned: destroy \*`out_batch` with [`troika_batch_destroy`](crate::troika_batch_destroy).
    /// Errors: those of [`troika_batch_create`](crate::troika_batch_create); INVALID_ARGUMENT
    /// (weights of another type, shape or size). Threads: reads the tensors.
    pub fn troika_batch_create_weighted(
        inputs: troika_tensor,
        targets: troika_tensor,
        weights: troika_tensor,
        out_batch: *mut troika_batch,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies a batch, such as a loader's batch that the caller wants to keep. A step on the copy
    /// of a loader's batch counts as one on the batch: a training state then has the place after
    /// the batch.
    ///
    /// Owned: destroy \*`out_batch` with [`troika_batch_destroy`](crate::troika_batch_destroy).
    /// Errors: INVALID_ARGUMENT (a batch that its loader moved past), OUT_OF_MEMORY. Threads: reads
    /// the batch.
    pub fn troika_batch_copy(
        batch: troika_batch,
        out_batch: *mut troika_batch,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_BATCH_INFO_INIT` does. Any thread.
    pub fn troika_batch_info_init(info: *mut troika_batch_info, struct_size: u32);

    /// Describes a batch and lends its host memory, by the pointers in \*`out_info`. Those are
    /// borrowed until the batch is destroyed; a loader's batch, until the next call on its loader.
    ///
    /// Errors: INVALID_ARGUMENT (`struct_size`, a batch that its loader moved past). Threads: reads
    /// the batch.
    pub fn troika_batch_describe(
        batch: troika_batch,
        out_info: *mut troika_batch_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a batch that the caller owns. NULL and a loader's batch are
    /// ignored. Never fails. Any thread, but not while another is inside a call with the same
    /// handle.
    pub fn troika_batch_destroy(batch: troika_batch);
}
