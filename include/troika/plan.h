/** @file plan.h Planning: what a training step takes on a mesh of devices, which need not be there.
 *
 * Everything follows from the model's layers: no device is looked for, no parameter needs a value. docs/planning.md has the
 * formulas, and what they leave out.
 *
 * Threads: these calls read the model, which takes one call at a time; a second one gets BUSY.
 */
#ifndef TROIKA_PLAN_H
#define TROIKA_PLAN_H

#include <troika/trainer.h>

TROIKA_BEGIN_DECLS

/**
 * What to plan for: a step, as troika_trainer_options has it, and devices of one kind, each linked to every other. Begin with
 * TROIKA_PLAN_OPTIONS_INIT, whose devices are H200 GPUs with NVLink, by the data sheet: 141 GB, 67e12 (F32), 494e12 (TF32) or
 * 989e12 (BF16, F16) operations a second, 4.8e12 bytes a second of memory, 450e9 bytes a second of links each way; 2
 * microseconds a message is a guess.
 */
typedef struct troika_plan_options {
  uint32_t struct_size;         /**< sizeof(troika_plan_options). */
  int32_t devices;              /**< Default 1. */
  int64_t batch;                /**< Samples a step, over all devices together; default 256. */
  int32_t loss;                 /**< Default TROIKA_LOSS_CROSS_ENTROPY. */
  int32_t precision;            /**< Default TROIKA_PRECISION_F32. */
  double momentum;              /**< In [0, 1); above 0 there is optimizer state. Default 0. */
  int32_t micro_batches;        /**< Of each pipeline's samples; default 1. */
  int32_t layer_schedule;       /**< Default TROIKA_LAYER_SCHEDULE_1F1B. */
  int32_t layer_chunks;         /**< Stages a device, with the interleaved schedule; default 1. */
  int32_t device_kind;          /**< TROIKA_DEVICE_CPU or TROIKA_DEVICE_CUDA; 0 (default): either. A mesh that `troika_model_attach`
                                     refuses on such devices cannot work; today both kinds take the same meshes. */
  int64_t memory_bytes;         /**< Of a device; default 141e9. */
  double operations_per_second; /**< Of a device; TROIKA_UNSET (default): an H200's, by `precision`. */
  double memory_bandwidth;      /**< Bytes a second that a device reads and writes; default 4.8e12. */
  double link_bandwidth;        /**< Bytes a second that a device sends, while it receives as many; default 450e9. */
  double link_latency;          /**< Seconds until a message's first byte is there; default 2e-6. */
  int32_t logical_shards;       /**< Of each batch; 0 (default): none. */
  int32_t recompute_segments;   /**< Of the forward pass, whose insides are computed again; 0 (default): none. */
  int32_t shard_optimizer;      /**< 1: each parameter's optimizer state lies on one of the devices that share the batch, which
                                     updates it and sends it to the others (ZeRO level 1); default 0. */
  int32_t gradient_compression; /**< How gradients travel; default TROIKA_COMPRESSION_NONE. */
  const char *recompute_layers; /**< Layers whose outputs are computed again: names with `*`, `?`, by commas; NULL (default): none. */
  int64_t activation_budget_bytes; /**< Computes again what it takes for activations to fit on each device; 0 (default): no
                                     budget. */
  double max_gradient_norm;     /**< Above 0: gradients are clipped; default 0. */
  const troika_trainer_options *trainer; /**< The step of a trainer with these options, all of them but `mesh`. Every field
                                     above that troika_trainer_options has too is ignored then. NULL (default): the fields
                                     above. Borrowed during the call. */
} troika_plan_options;

/** Every field at its default. */
#define TROIKA_PLAN_OPTIONS_INIT                                                                              \
  {                                                                                                           \
    sizeof(troika_plan_options), 1, 256, TROIKA_LOSS_CROSS_ENTROPY, TROIKA_PRECISION_F32, 0.0, 1,             \
        TROIKA_LAYER_SCHEDULE_1F1B, 1, 0, 141000000000, TROIKA_UNSET, 4.8e12, 450e9, 2e-6, 0, 0, 0,           \
        TROIKA_COMPRESSION_NONE, NULL, 0, 0.0, NULL                                                              \
  }

/** Fills `options` as TROIKA_PLAN_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_plan_options_init(troika_plan_options *options);

/**
 * What a step takes. Bytes of memory are those of the device that needs most, their sum; bytes sent, of the device that sends
 * most. Filled by `troika_plan_estimate` and `troika_plan_choose`.
 */
typedef struct troika_plan {
  uint32_t struct_size;     /**< Set by the caller to sizeof(troika_plan), or 0 for the same. */
  int32_t fits;             /**< 1: `total_bytes` is at most the memory of a device. */
  troika_mesh mesh;         /**< data * layer * channel devices. */
  int32_t reserved;         /**< 0. */
  int64_t parameter_bytes;  /**< Parameters and buffers. */
  int64_t gradient_bytes;   /**< Gradients of parameters. */
  int64_t optimizer_bytes;  /**< Optimizer state; with `shard_optimizer` the largest share of it. */
  int64_t activation_bytes; /**< Activations and their gradients, by their lifetimes; without scratch of kernels. */
  int64_t total_bytes;      /**< The four together. */
  int64_t sent_bytes;       /**< In a step: sums of gradients and of channels, messages between layers, sharded parameters. */
  double bubble;            /**< The share of the pipeline's time in which its devices wait for each other, 0 to 1. */
  double seconds;           /**< A step. */
} troika_plan;

/** All zero but `struct_size`. */
#define TROIKA_PLAN_INIT \
  { sizeof(troika_plan), 0, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0 }

/**
 * Estimates a training step on one mesh. `options` may be NULL: defaults; `mesh` may be NULL: all devices share the batch; 0 in
 * `mesh->data` is as many as there are devices for.
 *
 *     troika_plan_options options = TROIKA_PLAN_OPTIONS_INIT;
 *     troika_plan plan = TROIKA_PLAN_INIT;
 *     troika_mesh mesh = {2, 4, 1};
 *     options.devices = 8;
 *     options.micro_batches = 8;
 *     troika_plan_estimate(model, &options, &mesh, &plan, &error);     -- plan.seconds, plan.total_bytes ...
 *
 * Errors: INVALID_ARGUMENT (names the field; a model with no output; a mesh that needs another number of devices, or cuts the
 * model into more stages than it has layers or a layer into more parts than it has channels; parts of the batch that BatchNorm
 * cannot normalise), UNSUPPORTED (a parameter shared by layers that are cut differently; `logical_shards` with a split by
 * layer or channel; what attaching refuses on `device_kind`), NOT_FOUND (a pattern of `recompute_layers` that matches no
 * layer), OUT_OF_MEMORY (also where nothing fits `activation_budget_bytes`), BUSY. One thread
 * a model at a time.
 */
TROIKA_API troika_status troika_plan_estimate(troika_model model,
                                              const troika_plan_options *options,
                                              const troika_mesh *mesh, troika_plan *out_plan,
                                              troika_error *error);

/**
 * Estimates every mesh of all `options->devices` and gives the fastest that fits their memory; of equally fast ones that with
 * more parts of the batch, then that with more layers in a row. Meshes that cannot work are left out. `options` may be NULL.
 *
 *     troika_plan_choose(model, &options, &plan, &error);
 *     trainer_options.mesh = plan.mesh;
 *
 * Errors: NOT_FOUND where none fits (tells which needs least, and how much), or works (tells why the first does not),
 * INVALID_ARGUMENT (names the field; a model with no output), OUT_OF_MEMORY, BUSY. One thread a model at a time.
 */
TROIKA_API troika_status troika_plan_choose(troika_model model, const troika_plan_options *options,
                                            troika_plan *out_plan, troika_error *error);

TROIKA_END_DECLS

#endif
