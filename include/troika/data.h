/** @file data.h Data: datasets of samples, and loaders that give shuffled, prefetched batches.
 *
 * Threads: a dataset never changes, any thread may use it at any time. A loader takes one call at a time, a second
 * thread gets BUSY, also while `troika_trainer_train_epoch` or an evaluation uses it. A batch may be read from several
 * threads, a loader's batch until the next call on its loader.
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
  int32_t resize_height;  /**< Bilinear resize (pixel centres, no antialiasing), the tutorial's 96x96; unset: none. */
  int32_t resize_width;   /**< As resize_height; set both or none. */
  int32_t reserved;       /**< 0. */
  double mean;            /**< u8 pixels p become (p / 255 - mean) / std; default 0. */
  double std;             /**< Default 1; above 0. */
} troika_dataset_options;

/** No resize, mean 0, std 1. */
#define TROIKA_DATASET_OPTIONS_INIT \
  { sizeof(troika_dataset_options), TROIKA_UNSET, TROIKA_UNSET, 0, 0.0, 1.0 }

/** Fills `options` as TROIKA_DATASET_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_dataset_options_init(troika_dataset_options *options);

/**
 * Reads images and labels from two IDX files (the format of MNIST), plain or gzipped: images u8 [n, h, w] or
 * [n, c, h, w], labels u8 [n]. Samples are f32 [c, h, w].
 *
 * Owned: destroy `*out_dataset` with `troika_dataset_destroy`. Errors: NOT_FOUND (no such file), IO, CORRUPT (not IDX
 * of u8, truncated, trailing bytes, other counts of images and labels), INVALID_ARGUMENT (the message names the
 * option), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API troika_status troika_dataset_open_idx(troika_context context, const char *images_path,
                                                 const char *labels_path,
                                                 const troika_dataset_options *options,
                                                 troika_dataset *out_dataset, troika_error *error);

/**
 * Reads a directory with the four IDX files of MNIST and its relatives: `train-images-idx3-ubyte`,
 * `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte`, `t10k-labels-idx1-ubyte`, each plain or with `.gz`.
 * `split` is "train" or "test".
 *
 * Owned: destroy `*out_dataset`. Errors: those of `troika_dataset_open_idx`; INVALID_ARGUMENT for another split.
 * Any thread.
 */
TROIKA_API troika_status troika_dataset_open_directory(troika_context context,
                                                       const char *directory, const char *split,
                                                       const troika_dataset_options *options,
                                                       troika_dataset *out_dataset,
                                                       troika_error *error);

/**
 * Makes a dataset of arrays in host memory, which are copied: `inputs` f32 [n, dims...]; and targets, one of `labels`
 * i32 [n] (classes, for cross-entropy) or `values` f32 [n, value_size] (for mean squared error), the other NULL.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (rank, a dimension, `n` or a label below 0, `value_size`
 * below 1, both targets or none), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API troika_status troika_dataset_create_arrays(troika_context context, const float *inputs,
                                                      const int64_t *dims, int32_t rank, int64_t n,
                                                      const int32_t *labels, const float *values,
                                                      int64_t value_size,
                                                      troika_dataset *out_dataset,
                                                      troika_error *error);

/**
 * Makes a synthetic set for tests and benchmarks: `n` samples f32 [dims...] in [-1, 1) that depend on (seed, sample)
 * alone, each label's samples lying around a centre of their own, so that a network can learn them. Sample i has the
 * label i modulo `classes`.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (rank, a dimension, `n` below 0, `classes` below 1),
 * OUT_OF_MEMORY. Any thread.
 */
TROIKA_API troika_status troika_dataset_create_synthetic(troika_context context,
                                                         const int64_t *dims, int32_t rank,
                                                         int64_t n, int32_t classes, uint64_t seed,
                                                         troika_dataset *out_dataset,
                                                         troika_error *error);

/**
 * Makes a dataset of one stream of `count` tokens in host memory, which is copied: the sample for a language model.
 * `dtype` says what `tokens` points to: TROIKA_U8 (a text, each byte a token) or TROIKA_I32. The stream is cut into
 * windows of `steps` tokens, one after the other: (count - 1) / steps samples i32 [steps]. The label of each token is
 * the token after it: labels i32 [steps] per sample. Tokens that are left at the end belong to no sample.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (`dtype`, `count` below 0, `steps` below 1, a token below 0),
 * OUT_OF_MEMORY. Any thread.
 *
 *     troika_dataset_create_token_stream(context, text, TROIKA_U8, length, 64, &dataset, &error);
 */
TROIKA_API troika_status troika_dataset_create_token_stream(troika_context context,
                                                            const void *tokens, int32_t dtype,
                                                            int64_t count, int32_t steps,
                                                            troika_dataset *out_dataset,
                                                            troika_error *error);

/**
 * Makes a dataset of token sequences in host memory, which are copied: `tokens` [n, steps] of TROIKA_U8 or TROIKA_I32,
 * and `labels` i32 [n, label_size]. `label_size` is 1 (a class for each sequence) or `steps` (one for each token).
 * A label may also be `ignore_index`, which a trainer must then have as its own; TROIKA_UNSET: none may.
 *
 * Owned: destroy `*out_dataset`. Errors: INVALID_ARGUMENT (`dtype`, `n` below 0, `steps` below 1, another `label_size`,
 * a token below 0, a label below 0 that is not `ignore_index`), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API troika_status troika_dataset_create_tokens(troika_context context, const void *tokens,
                                                      int32_t dtype, int64_t n, int32_t steps,
                                                      const int32_t *labels, int32_t label_size,
                                                      int32_t ignore_index,
                                                      troika_dataset *out_dataset,
                                                      troika_error *error);

/** What a dataset holds. Filled by `troika_dataset_describe`. */
typedef struct troika_dataset_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_dataset_info). */
  int32_t rank;                  /**< Rank of a sample. */
  int64_t n;                     /**< Samples. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of a sample, such as {1, 28, 28}. */
  int64_t classes;               /**< Largest label + 1; 0 where targets are values. */
  int64_t label_size;            /**< Labels per sample; 0 if targets are values. */
  int64_t words;                 /**< Tokens: the largest token + 1; 0 for other samples. */
  int32_t dtype;                 /**< Of the samples: TROIKA_F32, or TROIKA_I32 for tokens. */
  int32_t reserved;              /**< 0. */
} troika_dataset_info;

/** Describes a dataset. Errors: INVALID_ARGUMENT (`struct_size`). Any thread. */
TROIKA_API troika_status troika_dataset_describe(troika_dataset dataset,
                                                 troika_dataset_info *out_info,
                                                 troika_error *error);

/**
 * Gives up the caller's hold on a dataset. NULL is ignored. Never fails. Any thread, but not while another is inside a
 * call with the same handle.
 */
TROIKA_API void troika_dataset_destroy(troika_dataset dataset);

/** Options of a loader. Begin with TROIKA_LOADER_OPTIONS_INIT. */
typedef struct troika_loader_options {
  uint32_t struct_size;  /**< sizeof(troika_loader_options). */
  int32_t batch;         /**< Samples a batch, over all devices together. Must be set. */
  int32_t shuffle;       /**< 1: the order is a function of (seed, epoch); 0 (default): the dataset's order. */
  int32_t drop_last;     /**< 1: a last, smaller batch is left out; 0 (default): it is given. */
  int32_t prefetch;      /**< Batches prepared ahead on a thread of the loader's; default 2; 0: no thread. */
  int32_t reserved;      /**< 0. */
  uint64_t seed;         /**< Seed of the shuffle; default 0. */
} troika_loader_options;

/** Batch size unset, the dataset's order, the last batch given, 2 prefetched, seed 0. */
#define TROIKA_LOADER_OPTIONS_INIT \
  { sizeof(troika_loader_options), TROIKA_UNSET, 0, 0, 2, 0, 0 }

/** Fills `options` as TROIKA_LOADER_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_loader_options_init(troika_loader_options *options);

/**
 * Creates a loader over a dataset, at batch 0 of epoch 0. It takes the memory of all its batches here.
 *
 * Owned: destroy `*out_loader` with `troika_loader_destroy`. Errors: INVALID_ARGUMENT (the message names the field),
 * OUT_OF_MEMORY. Any thread.
 */
TROIKA_API troika_status troika_loader_create(troika_dataset dataset,
                                              const troika_loader_options *options,
                                              troika_loader *out_loader, troika_error *error);

/**
 * Gives the next batch of the epoch, or END_OF_DATA once when it has none (`*out_batch` is NULL), after which the next
 * epoch begins.
 *
 * Borrowed until the next call on the loader, or its destruction: `*out_batch`, which needs no destroying.
 * Errors: BUSY. One thread a loader at a time.
 */
TROIKA_API troika_status troika_loader_next(troika_loader loader, troika_batch *out_batch,
                                            troika_error *error);

/** Where a loader stands: the batch that `troika_loader_next` gives next. */
typedef struct troika_loader_position {
  int64_t epoch;    /**< From 0. */
  int64_t batch;    /**< Batch within the epoch, from 0. */
  int64_t batches;  /**< Batches in an epoch; 0 for `troika_loader_seek`: not known. */
} troika_loader_position;

/** Gives the position. Errors: BUSY. One thread a loader at a time. */
TROIKA_API troika_status troika_loader_tell(troika_loader loader,
                                            troika_loader_position *out_position,
                                            troika_error *error);

/**
 * Moves to a position: resuming in the middle of an epoch.
 *
 * Errors: INVALID_ARGUMENT below 0, beyond the epoch's end, or where `batches` is another loader's; BUSY. One thread a
 * loader at a time.
 */
TROIKA_API troika_status troika_loader_seek(troika_loader loader,
                                            const troika_loader_position *position,
                                            troika_error *error);

/**
 * Gives up the caller's hold on a loader; the last one ends its thread. NULL is ignored. Never fails. Any thread, but
 * not while another is inside a call with the same handle.
 */
TROIKA_API void troika_loader_destroy(troika_loader loader);

/**
 * Makes a batch of tensors of the caller's own: `inputs` f32 [n, ...] or i32 [n, ...] (tokens), and `targets` i32 [n]
 * or [n, ...] (classes: one per sample, or one per position, in the order of positions) or f32 [n, k] (values), on any
 * devices. Contents are copied.
 *
 * Owned: destroy `*out_batch` with `troika_batch_destroy`. Errors: INVALID_ARGUMENT (dtypes or shapes), OUT_OF_MEMORY.
 * Threads: reads both tensors.
 */
TROIKA_API troika_status troika_batch_create(troika_tensor inputs, troika_tensor targets,
                                             troika_batch *out_batch, troika_error *error);

/** What a batch holds. Filled by `troika_batch_describe`. */
typedef struct troika_batch_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_batch_info). */
  int32_t rank;                  /**< Rank of the inputs, the batch included. */
  int64_t n;                     /**< Samples. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of the inputs, [n, ...]. */
  const float *inputs;           /**< Borrowed with the batch: row-major host memory; NULL if inputs are tokens. */
  const int32_t *labels;         /**< Borrowed: i32 [n, label_size]; NULL where targets are values. */
  const float *values;           /**< Borrowed: f32 [n, value_size]; NULL where targets are labels. */
  int64_t value_size;            /**< Values a sample; 0 where targets are labels. */
  const int32_t *tokens;         /**< Borrowed: i32, row-major; NULL if inputs are f32. */
  int64_t label_size;            /**< Labels per sample; 0 if targets are values. */
} troika_batch_info;

/**
 * Describes a batch and lends its memory.
 *
 * Borrowed until the batch is destroyed, a loader's until the next call on its loader: the pointers in `*out_info`.
 * Errors: INVALID_ARGUMENT (`struct_size`, a batch that its loader moved past). Threads: reads the batch.
 */
TROIKA_API troika_status troika_batch_describe(troika_batch batch, troika_batch_info *out_info,
                                               troika_error *error);

/**
 * Gives up the caller's hold on a batch made by `troika_batch_create`. NULL and a loader's batch are ignored. Never
 * fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API void troika_batch_destroy(troika_batch batch);

TROIKA_END_DECLS

#endif
