/** @file plan.h Planning: memory and time of a training step on a mesh of devices.
 *
 * The devices need not exist. Everything follows from the model's layers: no parameter needs a
 * value, and no device is looked for, except with `device_kind` TROIKA_DEVICE_CPU. The page
 * docs/planning.md has the formulas, and says what they leave out.
 *
 * Threads: these calls read the model, which takes one call at a time; a second call gets BUSY.
 */
#ifndef TROIKA_PLAN_H
#define TROIKA_PLAN_H

#include <troika/trainer.h>

TROIKA_BEGIN_DECLS

/**
 * A step to plan, described as in troika_trainer_options, and the devices: all of one kind, each
 * linked to every other of its node. The nodes are linked by a network.
 *
 * Begin with TROIKA_PLAN_OPTIONS_INIT. Its devices are H200 GPUs with NVLink, by the data sheet:
 * - memory of 141 GB, with 4.8e12 bytes per second.
 * - 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.
 * - links of 450e9 bytes per second each way.
 *
 * A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2 microseconds
 * per message within a node, and the 5 between nodes, are guesses.
 */
typedef struct troika_plan_options {
  uint32_t struct_size;   /**< sizeof(troika_plan_options). */
  int32_t devices;        /**< 1 to 4096; default 1. */
  int64_t batch;          /**< Samples per step, for all devices together; default 256. */
  int32_t loss;           /**< Default TROIKA_LOSS_CROSS_ENTROPY. */
  int32_t precision;      /**< Default TROIKA_PRECISION_F32. */
  double momentum;        /**< In [0, 1); above 0 there is optimizer state. Default 0. */
  int32_t micro_batches;  /**< Parts of each pipeline's samples; default 1; 0 is 1. */
  int32_t layer_schedule; /**< Default TROIKA_LAYER_SCHEDULE_1F1B. */
  /** Stages per device, with the interleaved schedule; default 1; 0 is 1. */
  int32_t layer_chunks;
  /** TROIKA_DEVICE_CPU or TROIKA_DEVICE_CUDA; 0 (default): either. A mesh that
   *  `troika_model_attach` refuses on such devices cannot work; today both kinds take the same
   *  meshes. With CPU, steps are compiled for CPU devices of this machine, which takes seconds.
   *  `activation_bytes` is then the arena that their kernels need, with scratch. */
  int32_t device_kind;
  int64_t memory_bytes;         /**< Memory per device; default 141e9. */
  /** Operations per second and device. TROIKA_UNSET (default): an H200's, by `precision`. */
  double operations_per_second;
  /** Bytes per second that a device reads and writes; default 4.8e12. */
  double memory_bandwidth;
  /** Bytes per second that a device sends, while it receives as many; default 450e9. */
  double link_bandwidth;
  double link_latency;          /**< Seconds until a message's first byte arrives; default 2e-6. */
  int32_t logical_shards;       /**< Shards of each batch; 0 (default): none. */
  /** Segments of the forward pass; activations within them are computed again. 0 (default):
   *  none. */
  int32_t recompute_segments;
  /** 1: each parameter's optimizer state is stored on only one of the devices that share the batch.
   *  That device updates the parameter and sends it to the others (ZeRO level 1). Default 0. */
  int32_t shard_optimizer;
  int32_t gradient_compression; /**< How gradients travel; default TROIKA_COMPRESSION_NONE. */
  /** Layers whose outputs are computed again: names, with `*` and `?`, separated by commas. NULL
   *  (default): none. */
  const char *recompute_layers;
  /** Chooses what to compute again so that activations fit into this many bytes on each device.
   *  Excludes `recompute_segments` and `recompute_layers`. 0 (default): no budget. */
  int64_t activation_budget_bytes;
  double max_gradient_norm;     /**< Above 0: gradients are clipped; default 0. */
  /** If not NULL, plans the step of a trainer with these options, except `mesh`. The fields above
   *  that are also in troika_trainer_options are then not read. NULL (default): the fields above
   *  count. Borrowed during the call. */
  const troika_trainer_options *trainer;
  /** Devices of a node, of which `devices` must be a multiple. Above 0, gradients are summed in
   *  three parts: a reduce-scatter within each node, a sum over the nodes, an all-gather within
   *  each node. Only meshes that split by data alone are then estimated. 0 (default): all devices
   *  are on one node. */
  int32_t devices_per_node;
  int32_t reserved;             /**< 0. */
  /** Bytes per second that a node sends, while it receives as many: all its network cards together.
   *  Default 4e11. */
  double node_bandwidth;
  double node_latency;          /**< As `link_latency`, between nodes; default 5e-6. */
} troika_plan_options;

/** Every field at its default. */
#define TROIKA_PLAN_OPTIONS_INIT                                                                 \
  {                                                                                              \
    sizeof(troika_plan_options), 1, 256, TROIKA_LOSS_CROSS_ENTROPY, TROIKA_PRECISION_F32, 0.0,   \
        1, TROIKA_LAYER_SCHEDULE_1F1B, 1, 0, 141000000000, TROIKA_UNSET, 4.8e12, 450e9, 2e-6, 0, \
        0, 0, TROIKA_COMPRESSION_NONE, NULL, 0, 0.0, NULL, 0, 0, 4e11, 5e-6                      \
  }

/** Fills `options` as TROIKA_PLAN_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_plan_options_init(troika_plan_options *options, uint32_t struct_size);

/**
 * Memory, communication and time of a step. Bytes of memory are those of the device that needs most
 * in total; bytes sent are those of the device that sends most. Filled by `troika_plan_estimate`
 * and `troika_plan_choose`.
 */
typedef struct troika_plan_result {
  uint32_t struct_size;    /**< Set by the caller to sizeof(troika_plan_result). */
  int32_t fits;            /**< 1: `total_bytes` is at most the memory of a device. */
  troika_mesh mesh;        /**< data * layer * channel devices. */
  int64_t parameter_bytes; /**< Parameters and buffers. */
  int64_t gradient_bytes;  /**< Gradients of parameters. */
  int64_t optimizer_bytes; /**< Optimizer state; with `shard_optimizer` the largest share of it. */
  /** Activations and their gradients, by their lifetimes; without scratch of kernels, unless
   *  `device_kind` is TROIKA_DEVICE_CPU. */
  int64_t activation_bytes;
  int64_t total_bytes;     /**< The sum of the four fields above. */
  /** Sent in a step: sums of gradients and of channels, messages between layers, parameters that
   *  their owner updated (`shard_optimizer`). */
  int64_t sent_bytes;
  /** The share of the pipeline's time in which its devices wait for each other, 0 to 1. */
  double bubble;
  double seconds;          /**< Duration of a step. */
} troika_plan_result;

/** All zero except `struct_size`. */
#define TROIKA_PLAN_RESULT_INIT \
  { sizeof(troika_plan_result), 0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0.0, 0.0 }

/** Fills `result` as TROIKA_PLAN_RESULT_INIT does. Any thread. */
TROIKA_API(void) troika_plan_result_init(troika_plan_result *result, uint32_t struct_size);

/**
 * Estimates a training step on one mesh. `options` may be NULL: defaults. `mesh` may be NULL: all
 * devices share the batch. If `mesh->data` is 0, it is as many as there are devices for.
 *
 *     troika_plan_options options = TROIKA_PLAN_OPTIONS_INIT;
 *     troika_plan_result plan = TROIKA_PLAN_RESULT_INIT;
 *     troika_mesh mesh = {2, 4, 1, 0};
 *     options.devices = 8;
 *     options.micro_batches = 8;
 *     troika_plan_estimate(model, &options, &mesh, &plan, &error);  // plan.seconds ...
 *
 * Errors:
 * - INVALID_ARGUMENT: a field, which the message names; a model with no output.
 * - INVALID_ARGUMENT: a mesh that needs another number of devices; more stages than the model has
 *   layers; more parts of a layer than it has channels.
 * - INVALID_ARGUMENT: parts of the batch that BatchNorm cannot normalise.
 * - UNSUPPORTED: a parameter shared by layers that a split by channel cuts differently;
 *   `logical_shards` with a split by layer or channel; `devices_per_node` with such a split or with
 *   `shard_optimizer`.
 * - NOT_FOUND: a pattern of `recompute_layers`, or in `trainer` a group or a layer of `layer_cuts`,
 *   that matches nothing.
 * - OUT_OF_MEMORY: also if activations cannot fit into `activation_budget_bytes`.
 * - BUSY.
 *
 * Any thread; reads the model.
 */
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_plan_estimate(troika_model model,
                                               const troika_plan_options *options,
                                               const troika_mesh *mesh,
                                               troika_plan_result *out_plan, troika_error *error);

/**
 * Estimates every mesh of all `options->devices` and returns the fastest whose memory fits. If
 * several are equally fast, it returns the one with most parts of the batch, then the one with most
 * devices in a row. Meshes that cannot work are left out. `options` may be NULL: defaults.
 *
 *     troika_plan_choose(model, &options, &plan, &error);
 *     trainer_options.mesh = plan.mesh;
 *
 * Errors:
 * - NOT_FOUND: no mesh fits; the message says which needs least, and how much.
 * - NOT_FOUND: no mesh works; the message says why the first does not.
 * - NOT_FOUND: a name or pattern that matches nothing, as in `troika_plan_estimate`.
 * - INVALID_ARGUMENT (names the field; a model with no output), OUT_OF_MEMORY, BUSY.
 *
 * Any thread; reads the model.
 */
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_plan_choose(troika_model model, const troika_plan_options *options,
                                             troika_plan_result *out_plan, troika_error *error);

TROIKA_END_DECLS

#endif
