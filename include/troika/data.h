/** @file data.h Data: datasets of samples, and loaders of shuffled, prefetched batches.
 *
 * Threads: a dataset never changes; any thread may use it at any time. A loader takes one call at a
 * time; a second call gets BUSY, also while a trainer trains on or evaluates the loader's batches.
 * A batch may be read from several threads, a loader's batch until the next call on its loader.
 */
#ifndef TROIKA_DATA_H
#define TROIKA_DATA_H

#include <troika/group.h>
#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/** Samples and their targets: in host memory, or read by a callback of the host. Counted. */
typedef struct troika_dataset_s *troika_dataset;

/** Batches of a dataset, epoch after epoch. Counted. */
typedef struct troika_loader_s *troika_loader;

/** A batch: inputs [batch, ...], f32 or tokens i32, and targets. Counted. */
typedef struct troika_batch_s *troika_batch;

/** Transforms of image datasets. Begin with TROIKA_DATASET_OPTIONS_INIT. */
typedef struct troika_dataset_options {
  uint32_t struct_size;   /**< sizeof(troika_dataset_options). */
  int32_t reserved;       /**< 0. */
  /** Bilinear resize to this height (pixel centres, no antialiasing), 1 to 65535, such as the
   *  tutorial's 96x96; unset: none. */
  int64_t resize_height;
  int64_t resize_width;   /**< As `resize_height`; set both or none. */
  double mean;            /**< A u8 pixel p becomes (p / 255 - mean) / std; default 0. */
  double std;             /**< Default 1; above 0. */
} troika_dataset_options;

/** No resize, mean 0, std 1. */
#define TROIKA_DATASET_OPTIONS_INIT \
  { sizeof(troika_dataset_options), 0, TROIKA_UNSET, TROIKA_UNSET, 0.0, 1.0 }

/** Fills `options` as TROIKA_DATASET_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_dataset_options_init(troika_dataset_options *options, uint32_t struct_size);

/**
 * Reads images and labels from two IDX files (the format of MNIST), plain or gzipped: images u8 [n,
 * h, w] or [n, c, h, w], labels u8 [n]. Samples are f32 [c, h, w]. If `labels_path` is NULL or
 * empty, samples have no targets: they are for prediction.
 *
 * Owned: destroy `*out_dataset` with `troika_dataset_destroy`.
 *
 * Errors:
 * - NOT_FOUND (no such file), IO.
 * - CORRUPT: not IDX of u8, truncated, trailing bytes, different counts of images and labels.
 * - INVALID_ARGUMENT (the message names the option), OUT_OF_MEMORY.
 *
 * Any thread.
 */
TROIKA_API(troika_status) troika_dataset_open_idx(troika_context context, const char *images_path,
                                                  const char *labels_path,
                                                  const troika_dataset_options *options,
                                                  troika_dataset *out_dataset, troika_error *error);

/**
 * Reads a dataset from a directory with files of a known set. `split` is "train" or "test". Files
 * are plain or have `.gz` at the end of their names.
 * - MNIST and its relatives: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`,
 *   `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`.
 * - CIFAR-10: `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`, in the directory or in
 *   its folder `cifar-10-batches-bin`. Samples are f32 [3, 32, 32].
 * - CIFAR-100: `train.bin` and `test.bin`, in the directory or in its folder `cifar-100-binary`.
 *   Samples are f32 [3, 32, 32]; labels are the fine ones.
 *
 * A directory with IDX files is read as such, whatever else it has.
 *
 * Owned: destroy `*out_dataset`. Errors: those of `troika_dataset_open_idx`; CORRUPT also for files
 * of CIFAR with a part of a record or a label of no class; INVALID_ARGUMENT for another split, or
 * files of both CIFAR-10 and CIFAR-100. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_open_directory(troika_context context,
                                                        const char *directory, const char *split,
                                                        const troika_dataset_options *options,
                                                        troika_dataset *out_dataset,
                                                        troika_error *error);

/**
 * Creates a dataset from arrays in host memory, which are copied. `inputs` is f32 [n, dims...].
 * Targets are either `labels` i32 [n] (classes, for cross-entropy) or `values` f32 [n, value_size]
 * (for mean squared error); the other one is NULL.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (rank, a dimension, `n` or a label below
 * 0, `value_size` below 1, both targets or none), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_create_arrays(troika_context context, const float *inputs,
                                                       const int64_t *dims, int32_t rank, int64_t n,
                                                       const int32_t *labels, const float *values,
                                                       int64_t value_size,
                                                       troika_dataset *out_dataset,
                                                       troika_error *error);

/**
 * Creates a synthetic dataset for tests and benchmarks: `n` samples f32 [dims...] in [-1, 1). A
 * sample depends only on (seed, sample, its label), and sample i has the label i modulo `classes`.
 * The samples of a label are around a centre of their own, so a network can learn them.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (rank, a dimension, `n` below 0,
 * `classes` below 1), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_create_synthetic(troika_context context,
                                                          const int64_t *dims, int32_t rank,
                                                          int64_t n, int64_t classes, uint64_t seed,
                                                          troika_dataset *out_dataset,
                                                          troika_error *error);

/**
 * Creates a dataset for a language model from one stream of `count` tokens in host memory, which is
 * copied. `dtype` is the type of `tokens`: TROIKA_DTYPE_U8 (a text; each byte is a token) or
 * TROIKA_DTYPE_I32. The stream is cut into windows of `steps` tokens, one after another: (count -
 * 1) / steps samples i32 [steps], rounded down. The label of each token is the token after it:
 * labels i32 [steps] per sample. Tokens that are left at the end belong to no sample.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (`dtype`, `count` below 0, `steps` below
 * 1, a token below 0), OUT_OF_MEMORY. Any thread.
 *
 *     troika_dataset_create_token_stream(context, text, TROIKA_DTYPE_U8, length, 64, &dataset,
 *                                        &error);
 */
TROIKA_API(troika_status) troika_dataset_create_token_stream(troika_context context,
                                                             const void *tokens, int32_t dtype,
                                                             int64_t count, int64_t steps,
                                                             troika_dataset *out_dataset,
                                                             troika_error *error);

/**
 * Creates a dataset from token sequences in host memory, which are copied: `tokens` [n, steps] of
 * TROIKA_DTYPE_U8 or TROIKA_DTYPE_I32, and `labels` i32 [n, label_size]. `label_size` is 1 (one
 * class per sequence) or `steps` (one per token). A label may also be `ignore_index`; a trainer
 * must then have the same `ignore_index`. TROIKA_UNSET: no such label.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (`dtype`, `n` below 0, `steps` below 1,
 * another `label_size`, a token below 0, a label below 0 that is not `ignore_index`),
 * OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_create_tokens(troika_context context, const void *tokens,
                                                       int32_t dtype, int64_t n, int64_t steps,
                                                       const int32_t *labels, int64_t label_size,
                                                       int64_t ignore_index,
                                                       troika_dataset *out_dataset,
                                                       troika_error *error);

/** Arrays of samples and targets. Begin with TROIKA_ARRAYS_INIT. */
typedef struct troika_arrays {
  uint32_t struct_size;  /**< sizeof(troika_arrays). */
  /** Type of `inputs`: TROIKA_DTYPE_F32 (default), F64, F16, BF16, U8, I32 or I64. */
  int32_t dtype;
  const void *inputs;    /**< [n, dims...], row-major. Must be set. */
  const int64_t *dims;   /**< Shape of a sample: `rank` sizes. Must be set. Copied. */
  int32_t rank;          /**< 0 to TROIKA_MAX_RANK - 1; with 0 `dims` may be NULL. */
  /** 1: samples are tokens; `dtype` is U8, I32 or I64. 0 (default): samples are numbers, which
   *  become f32. */
  int32_t tokens;
  int64_t n;             /**< Samples. */
  /** [n, target_size], row-major. NULL: samples have no targets, and serve only to predict. */
  const void *targets;
  /** Type of `targets`: U8, I32 or I64 for labels; F32 or F64 for values. */
  int32_t target_dtype;
  /** 1: the arrays are not copied. The caller must not change them until `destroy` is called.
   *  Default 0. */
  int32_t borrow;
  int64_t target_size;   /**< Labels or values of a sample; default 1. */
  /** A number x becomes (x - mean) / std. A u8 number p is x = p / 255. Computed in f32 for U8,
   *  F16, BF16 and F32, in f64 for other types. Default 0; tokens need 0 and 1. */
  double mean;
  double std;            /**< Above 0; default 1. */
  int64_t ignore_index;  /**< A label that weighs nothing; TROIKA_UNSET (default): none. */
  /** Called once with `user` when the library no longer needs the arrays: if they are not borrowed,
   *  before the call returns; otherwise by the call or the thread that gives up the last hold. If
   *  the call fails, it is not called. NULL: no call. */
  troika_destroy_function destroy;
  void *user;            /**< Passed to `destroy`. */
} troika_arrays;

/** No arrays, f32, copied. */
#define TROIKA_ARRAYS_INIT                                                                       \
  {                                                                                              \
    sizeof(troika_arrays), TROIKA_DTYPE_F32, NULL, NULL, 0, 0, 0, NULL, 0, 0, 1, 0.0, 1.0,       \
        TROIKA_UNSET, NULL, NULL                                                                 \
  }

/** Fills `arrays` as TROIKA_ARRAYS_INIT does. Any thread. */
TROIKA_API(void) troika_arrays_init(troika_arrays *arrays, uint32_t struct_size);

/**
 * Creates a dataset from arrays of any type in host memory, copied or borrowed. Samples are
 * converted when a batch is read, so the dataset takes no more memory than the arrays. Elements may
 * be at any address. A dataset without targets cannot be trained on or evaluated.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (the message names the field; a label or
 * token below 0 or above 2^31 - 1), OUT_OF_MEMORY. Any thread.
 *
 *     troika_arrays arrays = TROIKA_ARRAYS_INIT;
 *     arrays.dtype = TROIKA_DTYPE_U8;
 *     arrays.inputs = pixels;
 *     arrays.dims = dims;
 *     arrays.rank = 3;
 *     arrays.n = 60000;
 *     arrays.targets = labels;
 *     arrays.target_dtype = TROIKA_DTYPE_I64;
 *     arrays.borrow = 1;
 *     troika_dataset_create_from(context, &arrays, &dataset, &error);
 */
TROIKA_API(troika_status) troika_dataset_create_from(troika_context context,
                                                     const troika_arrays *arrays,
                                                     troika_dataset *out_dataset,
                                                     troika_error *error);

/** Samples that the host is asked to write. Borrowed until the callback returns. */
typedef struct troika_read_request {
  uint32_t struct_size;    /**< The bytes that the library filled. */
  int32_t reserved;        /**< 0. */
  int64_t n;               /**< Samples to write, at least 1. */
  const int64_t *indices;  /**< Indices of these samples; NULL for a stream. */
  int64_t epoch;           /**< A stream: the loader's epoch. Otherwise 0. */
  /** A stream: samples of the epoch that come before these. 0 begins the epoch, also again. After
   *  `troika_loader_seek` it may be any multiple of the batch size, even beyond the end. Otherwise
   *  0. */
  int64_t first;
  void *inputs;            /**< To be written: [n, dims...], f32, or i32 for tokens. */
  int32_t *labels;         /**< To be written: [n, label_size]; NULL without labels. */
  float *values;           /**< To be written: [n, value_size]; NULL without values. */
} troika_read_request;

/**
 * Reads samples of the host. Returns the number of samples that were written: `n`; a stream may
 * return fewer at the end of the epoch, and 0 after it. Below 0 is a failure: `error` then holds
 * the host's message, and its status is TROIKA_STOPPED to stop the call that waits for the samples,
 * or else the call returns TROIKA_ERROR_CALLBACK with the message.
 *
 * An exception of C++ that leaves the callback is a failure with the exception's text. After a
 * failure the loader is at the same batch, and asks again when the next call wants the batch.
 *
 * Called on a loader's own thread, or on the thread that uses a loader without prefetch. Several
 * threads may call it at once if several loaders read the dataset. With prefetch it runs ahead,
 * beyond the end of an epoch too. It must not call the library with the loader that waits for it,
 * except `troika_loader_destroy`. Destroying a loader on another thread waits until the callback
 * returns.
 */
typedef int64_t(TROIKA_CALL *troika_read_function)(const troika_read_request *request,
                                                   troika_error *error, void *user);

/** A dataset of the host's own. Begin with TROIKA_SOURCE_INIT. */
typedef struct troika_source {
  uint32_t struct_size;       /**< sizeof(troika_source). */
  int32_t dtype;              /**< TROIKA_DTYPE_F32 (default), or TROIKA_DTYPE_I32 for tokens. */
  const int64_t *dims;        /**< Shape of a sample: `rank` sizes. Must be set. Copied. */
  int32_t rank;               /**< 0 to TROIKA_MAX_RANK - 1; with 0 `dims` may be NULL. */
  int32_t reserved;           /**< 0. */
  /** Samples, which are read in any order. -1: a stream of unknown length, which is read from its
   *  first sample to its last. */
  int64_t n;
  int64_t classes;            /**< Above the largest label; default 0: targets are no labels. */
  int64_t words;              /**< Above the largest token; must be set for tokens. */
  int64_t label_size;         /**< Labels of a sample, if `classes` is set; default 1. */
  /** Values of a sample; default 0: targets are no values. Only if `classes` is 0; if both are 0,
   *  samples have no targets. */
  int64_t value_size;
  int64_t ignore_index;       /**< A label that weighs nothing; TROIKA_UNSET (default): none. */
  troika_read_function read;  /**< Must be set. */
  void *user;                 /**< Passed to `read`. */
  /** Called with `user` when the dataset ends, by the call or the thread that gives up the last
   *  hold. If the call fails, it is not called. */
  troika_destroy_function user_destroy;
} troika_source;

/** No callback, f32, 0 samples. */
#define TROIKA_SOURCE_INIT                                                                       \
  {                                                                                              \
    sizeof(troika_source), TROIKA_DTYPE_F32, NULL, 0, 0, 0, 0, 0, 1, 0, TROIKA_UNSET, NULL,      \
        NULL, NULL                                                                               \
  }

/** Fills `source` as TROIKA_SOURCE_INIT does. Any thread. */
TROIKA_API(void) troika_source_init(troika_source *source, uint32_t struct_size);

/**
 * Creates a dataset that the host reads by a callback: of `n` samples in any order, or a stream.
 * Loaders prefetch from it as from any other. The labels and tokens that the callback writes are
 * checked: one outside its range is TROIKA_ERROR_CALLBACK. A loader of a stream cannot shuffle, and
 * does not know its number of batches. An epoch ends with the stream. GPUs do not keep the samples:
 * a callback may write other samples each time, such as augmented ones.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (the message names the field),
 * OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_create_callback(troika_context context,
                                                         const troika_source *source,
                                                         troika_dataset *out_dataset,
                                                         troika_error *error);

/**
 * Creates a dataset with the samples of another one at `indices`, in that order; an index may occur
 * several times. Nothing is copied except the indices. The dataset keeps the other one's `classes`
 * and `words`.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (a count below 0, an index outside the
 * dataset, a stream), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_subset(troika_dataset dataset, const int64_t *indices,
                                                int64_t count, troika_dataset *out_dataset,
                                                troika_error *error);

/**
 * Cuts a dataset into `parts` datasets of `sizes[i]` samples: no sample is in two of them. With
 * `shuffle` 1 the samples are drawn in an order that depends only on `seed`, with 0 they are in the
 * dataset's order. Samples that are left belong to no part. No sample is copied.
 *
 * Owned: destroy each of `out_datasets[0 .. parts-1]`; on an error all are NULL. Errors:
 * INVALID_ARGUMENT (`parts` below 1, a size below 0, more samples than there are, another
 * `shuffle`, a stream), OUT_OF_MEMORY. Any thread.
 *
 *     const int64_t sizes[] = {55000, 5000};
 *     troika_dataset parts[2];
 *     troika_dataset_split(dataset, sizes, 2, 1, 42, parts, &error);
 */
TROIKA_API(troika_status) troika_dataset_split(troika_dataset dataset, const int64_t *sizes,
                                               int32_t parts, int32_t shuffle, uint64_t seed,
                                               troika_dataset *out_datasets, troika_error *error);

/**
 * Creates a dataset with the samples of several datasets, one after another. Their samples and
 * targets must have the same form; `classes` and `words` become the largest. No sample is copied.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (`dataset_count` below 1, forms that
 * differ, a stream), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_concat(const troika_dataset *datasets,
                                                int32_t dataset_count,
                                                troika_dataset *out_dataset, troika_error *error);

/**
 * Creates a dataset with the samples of another one, each with a weight in losses. Sample i has
 * `weights[i]`, 0 or from 1e-15 to 1e15, instead of its earlier weight. `count` is the number of
 * the dataset's samples. A trainer takes such samples if its option `sample_weights` is 1. Subsets
 * and parts keep the weights of their samples. In a concatenation, samples without a weight have 1.
 * The weights are copied, the samples are not.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (another `count`, another weight, a
 * stream), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_dataset_weigh(troika_dataset dataset, const float *weights,
                                               int64_t count, troika_dataset *out_dataset,
                                               troika_error *error);

/** Description of a dataset. Filled by `troika_dataset_describe`. */
typedef struct troika_dataset_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_dataset_info). */
  int32_t rank;                  /**< Rank of a sample. */
  int64_t n;                     /**< Samples; -1 for a stream. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of a sample, such as {1, 28, 28}. */
  /** The largest label + 1, without ignored labels. In a stream of tokens: `words`. A dataset of a
   *  callback has the host's number. If targets are no labels: 0. */
  int64_t classes;
  int64_t label_size;            /**< Labels per sample; 0 if targets are no labels. */
  int64_t words;                 /**< Tokens: the largest token + 1. 0 for other samples. */
  /** Type of samples: TROIKA_DTYPE_F32, or TROIKA_DTYPE_I32 for tokens. */
  int32_t dtype;
  int32_t reserved;              /**< 0. */
} troika_dataset_info;

/** All zero except `struct_size`. */
#define TROIKA_DATASET_INFO_INIT \
  { sizeof(troika_dataset_info), 0, 0, {0}, 0, 0, 0, 0, 0 }

/** Fills `info` as TROIKA_DATASET_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_dataset_info_init(troika_dataset_info *info, uint32_t struct_size);

/** Describes a dataset. Errors: INVALID_ARGUMENT (`struct_size`). Any thread. */
TROIKA_API(troika_status) troika_dataset_describe(troika_dataset dataset,
                                                  troika_dataset_info *out_info,
                                                  troika_error *error);

/**
 * Gives up the caller's hold on a dataset. NULL is ignored. Never fails. Any thread, but not while
 * another is inside a call with the same handle.
 */
TROIKA_API(void) troika_dataset_destroy(troika_dataset dataset);

/** Options of a loader. Begin with TROIKA_LOADER_OPTIONS_INIT. */
typedef struct troika_loader_options {
  uint32_t struct_size;  /**< sizeof(troika_loader_options). */
  /** 1: the order is a function of (seed, epoch); 0 (default): the dataset's order. */
  int32_t shuffle;
  int64_t batch;         /**< Samples per batch, for all devices together. Must be set. */
  /** 1: leaves out a last batch that is smaller than `batch`; 0 (default): returns it. */
  int32_t drop_last;
  /** Batches that the loader's own thread prepares ahead, 0 to 1024; default 2; 0: no thread. */
  int32_t prefetch;
  /** Seed of the shuffle, of weighted sampling, and of `flip` and `crop`; default 0. */
  uint64_t seed;
  /** Weighted sampling: `n` weights, one per sample of the dataset, at least 0 and not all 0. Each
   *  place of an epoch draws a sample with a probability in proportion to its weight, with
   *  replacement, as a function of (seed, epoch). Excludes `shuffle`. NULL (default): none.
   *  Copied. */
  const double *weights;
  /** Weighted sampling: samples of an epoch; 0 (default): those of the dataset. */
  int64_t epoch_samples;
  /** Reads only this process's share of each batch, for a loop of the caller's own. The samples of
   *  a batch are divided in their order, and the first ranks have one more if they do not divide
   *  evenly. A process may get none: a batch of 0 samples. All processes see the same number of
   *  batches. A trainer that has the group divides any loader by its own devices. NULL (default):
   *  whole batches. */
  troika_group group;
  /** 1: each sample is mirrored left to right with probability 1/2. Only for samples f32 [c, h, w].
   *  Random numbers are a function of (seed, epoch, place in the epoch), so each epoch has other
   *  samples, and a resumed epoch the same. GPUs do not keep the samples. 0 (default): none. */
  int32_t flip;
  /** N: each sample is shifted by -N to N pixels along its height, and along its width. Pixels
   *  beyond an edge are those before the edge, mirrored (as numpy.pad does in its mode "reflect").
   *  N is below the height and the width. Otherwise as `flip`; 0 (default): none. */
  int32_t crop;
} troika_loader_options;

/** Batch size unset, the dataset's order, a smaller last batch, 2 batches prefetched, seed 0. */
#define TROIKA_LOADER_OPTIONS_INIT \
  { sizeof(troika_loader_options), 0, TROIKA_UNSET, 0, 2, 0, NULL, 0, NULL, 0, 0 }

/** Fills `options` as TROIKA_LOADER_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_loader_options_init(troika_loader_options *options, uint32_t struct_size);

/**
 * Creates a loader of a dataset, at batch 0 of epoch 0. The memory for all its batches is allocated
 * here, so no later call fails because memory is short.
 *
 * Owned: destroy `*out_loader` with `troika_loader_destroy`. Errors: INVALID_ARGUMENT (the message
 * names the field), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_loader_create(troika_dataset dataset,
                                               const troika_loader_options *options,
                                               troika_loader *out_loader, troika_error *error);

/**
 * Returns the next batch of the epoch in `*out_batch`. After the last batch it returns END_OF_DATA
 * once, with `*out_batch` NULL; then the next epoch begins. Returns STOPPED, with `*out_batch`
 * NULL, if the dataset's callback wants to stop, or has destroyed the loader; a loader that is left
 * keeps its position.
 *
 * Borrowed until the next call on the loader, or its destruction: `*out_batch`, which the caller
 * need not destroy. Errors: BUSY; CALLBACK, after which the loader keeps its position. One thread
 * per loader at a time.
 */
TROIKA_API(troika_status) troika_loader_next(troika_loader loader, troika_batch *out_batch,
                                             troika_error *error);

/** The position of a loader: the batch that `troika_loader_next` returns next. */
typedef struct troika_loader_position {
  uint32_t struct_size; /**< sizeof(troika_loader_position). */
  int32_t reserved;     /**< 0. */
  int64_t epoch;        /**< From 0. */
  int64_t batch;        /**< Batch within the epoch, from 0. */
  /** Batches in an epoch. 0 in `troika_loader_seek`: not known. For a stream: those of the last
   *  epoch that has ended, and 0 before. */
  int64_t batches;
} troika_loader_position;

/** All zero except `struct_size`: the first batch of epoch 0. */
#define TROIKA_LOADER_POSITION_INIT \
  { sizeof(troika_loader_position), 0, 0, 0, 0 }

/** Fills `position` as TROIKA_LOADER_POSITION_INIT does. Any thread. */
TROIKA_API(void) troika_loader_position_init(troika_loader_position *position,
                                             uint32_t struct_size);

/** Returns the position of a loader. Errors: BUSY. One thread per loader at a time. */
TROIKA_API(troika_status) troika_loader_tell(troika_loader loader,
                                             troika_loader_position *out_position,
                                             troika_error *error);

/**
 * Moves a loader to a position, to resume in the middle of an epoch. `batch` may be the number of
 * batches in an epoch: the end of the epoch. A stream takes any `batch` and `batches`, and asks the
 * host for the samples from there on.
 *
 * Errors: INVALID_ARGUMENT (an epoch or batch below 0, an epoch above 2^62, a batch beyond the
 * epoch's end, `batches` of another loader), BUSY. One thread per loader at a time.
 */
TROIKA_API(troika_status) troika_loader_seek(troika_loader loader,
                                             const troika_loader_position *position,
                                             troika_error *error);

/**
 * Gives up the caller's hold on a loader; the last hold ends the loader's thread. If that thread is
 * in a callback of the host, the call waits until the callback returns. NULL is ignored. Never
 * fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_loader_destroy(troika_loader loader);

/**
 * Creates a batch from the caller's own tensors, which may be on any devices and are copied.
 * `targets` may be NULL, for prediction and for `own_loss` of `troika_trainer_forward`.
 * - `inputs`: f32 [n, ...], or i32 [n, ...] (tokens).
 * - `targets`: i32, i64 or u8 [n] (classes, one per sample) or [n, ...] (classes, one per position,
 *   in the order of positions), or f32 [n, k] (values).
 *
 * Owned: destroy `*out_batch` with `troika_batch_destroy`. Errors: INVALID_ARGUMENT (dtypes or
 * shapes), OUT_OF_MEMORY. Threads: reads both tensors.
 */
TROIKA_API(troika_status) troika_batch_create(troika_tensor inputs, troika_tensor targets,
                                              troika_batch *out_batch, troika_error *error);

/**
 * Creates a batch as `troika_batch_create` does. Its samples have weights in losses: `weights` is
 * f32 [n], each 0 or from 1e-15 to 1e15. A trainer takes such a batch if its option
 * `sample_weights` is 1.
 *
 * Owned: destroy `*out_batch` with `troika_batch_destroy`. Errors: those of `troika_batch_create`;
 * INVALID_ARGUMENT (weights of another type, shape or size). Threads: reads the tensors.
 */
TROIKA_API(troika_status) troika_batch_create_weighted(troika_tensor inputs, troika_tensor targets,
                                                       troika_tensor weights,
                                                       troika_batch *out_batch,
                                                       troika_error *error);

/**
 * Copies a batch, such as a loader's batch that the caller wants to keep. A step on the copy of a
 * loader's batch counts as one on the batch: a training state then has the place after the batch.
 *
 * Owned: destroy `*out_batch` with `troika_batch_destroy`. Errors: INVALID_ARGUMENT (a batch that
 * its loader moved past), OUT_OF_MEMORY. Threads: reads the batch.
 */
TROIKA_API(troika_status) troika_batch_copy(troika_batch batch, troika_batch *out_batch,
                                            troika_error *error);

/** Description of a batch. Filled by `troika_batch_describe`. */
typedef struct troika_batch_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_batch_info). */
  int32_t rank;                  /**< Rank of the inputs, including the batch. */
  int64_t n;                     /**< Samples. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of the inputs, [n, ...]. */
  const float *inputs;           /**< Borrowed: f32, row-major; NULL if inputs are tokens. */
  const int32_t *labels;         /**< Borrowed: i32 [n, label_size]; NULL without labels. */
  const float *values;           /**< Borrowed: f32 [n, value_size]; NULL without values. */
  int64_t value_size;            /**< Values per sample; 0 without values. */
  const int32_t *tokens;         /**< Borrowed: i32, row-major; NULL if inputs are f32. */
  int64_t label_size;            /**< Labels per sample; 0 without labels. */
  const float *weights;          /**< Borrowed: f32 [n], of the samples; NULL: 1 each. */
} troika_batch_info;

/** All zero except `struct_size`. */
#define TROIKA_BATCH_INFO_INIT \
  { sizeof(troika_batch_info), 0, 0, {0}, NULL, NULL, NULL, 0, NULL, 0, NULL }

/** Fills `info` as TROIKA_BATCH_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_batch_info_init(troika_batch_info *info, uint32_t struct_size);

/**
 * Describes a batch and lends its host memory, by the pointers in `*out_info`. Those are borrowed
 * until the batch is destroyed; a loader's batch, until the next call on its loader.
 *
 * Errors: INVALID_ARGUMENT (`struct_size`, a batch that its loader moved past). Threads: reads the
 * batch.
 */
TROIKA_API(troika_status) troika_batch_describe(troika_batch batch, troika_batch_info *out_info,
                                                troika_error *error);

/**
 * Gives up the caller's hold on a batch that the caller owns. NULL and a loader's batch are
 * ignored. Never fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_batch_destroy(troika_batch batch);

TROIKA_END_DECLS

#endif
