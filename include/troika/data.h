/** @file data.h Data: datasets of samples, and loaders of shuffled, prefetched batches.
 *
 * Threads: a dataset never changes; any thread may use it at any time. A loader takes one call at a
 * time; a second call gets BUSY, also while a trainer trains on or evaluates the loader's batches.
 * A batch may be read from several threads, a loader's batch until the next call on its loader.
 */
#ifndef TROIKA_DATA_H
#define TROIKA_DATA_H

#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/** Samples and their targets in host memory, never changed after creation. Counted. */
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
 * h, w] or [n, c, h, w], labels u8 [n]. Samples are f32 [c, h, w].
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
 * Reads a dataset from a directory with the four IDX files of MNIST and its relatives. `split` is
 * "train" (the `train` files) or "test" (the `t10k` files). The files are
 * `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and
 * `t10k-labels-idx1-ubyte`, each plain or with `.gz`.
 *
 * Owned: destroy `*out_dataset`. Errors: those of `troika_dataset_open_idx`; INVALID_ARGUMENT for
 * another split. Any thread.
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

/** Description of a dataset. Filled by `troika_dataset_describe`. */
typedef struct troika_dataset_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_dataset_info). */
  int32_t rank;                  /**< Rank of a sample. */
  int64_t n;                     /**< Samples. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of a sample, such as {1, 28, 28}. */
  /** The largest label + 1, without ignored labels. In a stream of tokens: `words`. If targets are
   *  values: 0. */
  int64_t classes;
  int64_t label_size;            /**< Labels per sample; 0 if targets are values. */
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
  uint64_t seed;         /**< Seed of the shuffle; default 0. */
} troika_loader_options;

/** Batch size unset, the dataset's order, a smaller last batch, 2 batches prefetched, seed 0. */
#define TROIKA_LOADER_OPTIONS_INIT \
  { sizeof(troika_loader_options), 0, TROIKA_UNSET, 0, 2, 0 }

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
 * once, with `*out_batch` NULL; then the next epoch begins.
 *
 * Borrowed until the next call on the loader, or its destruction: `*out_batch`, which the caller
 * need not destroy. Errors: BUSY. One thread per loader at a time.
 */
TROIKA_API(troika_status) troika_loader_next(troika_loader loader, troika_batch *out_batch,
                                             troika_error *error);

/** The position of a loader: the batch that `troika_loader_next` returns next. */
typedef struct troika_loader_position {
  uint32_t struct_size; /**< sizeof(troika_loader_position). */
  int32_t reserved;     /**< 0. */
  int64_t epoch;        /**< From 0. */
  int64_t batch;        /**< Batch within the epoch, from 0. */
  int64_t batches;      /**< Batches in an epoch; 0 in `troika_loader_seek`: not known. */
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
 * batches in an epoch: the end of the epoch.
 *
 * Errors: INVALID_ARGUMENT (an epoch or batch below 0, an epoch above 2^62, a batch beyond the
 * epoch's end, `batches` of another loader), BUSY. One thread per loader at a time.
 */
TROIKA_API(troika_status) troika_loader_seek(troika_loader loader,
                                             const troika_loader_position *position,
                                             troika_error *error);

/**
 * Gives up the caller's hold on a loader; the last hold ends the loader's thread. NULL is ignored.
 * Never fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_loader_destroy(troika_loader loader);

/**
 * Creates a batch from the caller's own tensors, which may be on any devices and are copied.
 * - `inputs`: f32 [n, ...], or i32 [n, ...] (tokens).
 * - `targets`: i32 [n] (classes, one per sample), i32 [n, ...] (classes, one per position, in the
 *   order of positions), or f32 [n, k] (values).
 *
 * Owned: destroy `*out_batch` with `troika_batch_destroy`. Errors: INVALID_ARGUMENT (dtypes or
 * shapes), OUT_OF_MEMORY. Threads: reads both tensors.
 */
TROIKA_API(troika_status) troika_batch_create(troika_tensor inputs, troika_tensor targets,
                                              troika_batch *out_batch, troika_error *error);

/** Description of a batch. Filled by `troika_batch_describe`. */
typedef struct troika_batch_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_batch_info). */
  int32_t rank;                  /**< Rank of the inputs, including the batch. */
  int64_t n;                     /**< Samples. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of the inputs, [n, ...]. */
  const float *inputs;           /**< Borrowed: f32, row-major; NULL if inputs are tokens. */
  const int32_t *labels;         /**< Borrowed: i32 [n, label_size]; NULL if targets are values. */
  const float *values;           /**< Borrowed: f32 [n, value_size]; NULL if targets are labels. */
  int64_t value_size;            /**< Values per sample; 0 if targets are labels. */
  const int32_t *tokens;         /**< Borrowed: i32, row-major; NULL if inputs are f32. */
  int64_t label_size;            /**< Labels per sample; 0 if targets are values. */
} troika_batch_info;

/** All zero except `struct_size`. */
#define TROIKA_BATCH_INFO_INIT \
  { sizeof(troika_batch_info), 0, 0, {0}, NULL, NULL, NULL, 0, NULL, 0 }

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
 * Gives up the caller's hold on a batch of `troika_batch_create`. NULL and a loader's batch are
 * ignored. Never fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_batch_destroy(troika_batch batch);

TROIKA_END_DECLS

#endif
