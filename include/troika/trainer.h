/** @file trainer.h Trainers: a model attached to devices, with its loss, optimizer and schedule.
 *
 * Threads: a trainer takes one call at a time, from any thread. A second call gets BUSY, also if it
 * comes from the trainer's own progress callback. Only `troika_trainer_request_stop` and
 * `troika_trainer_clear_stop` may be called from any thread at any time.
 *
 * Two errors are permanent for a trainer:
 * - DETACHED: the model has been attached to another trainer since.
 * - COMM: a step failed half way (a device failed, or the deadline passed), so replicas may differ.
 *   Attach the model again and load a training state. If only compiling a plan missed the deadline,
 *   the trainer stays usable.
 */
#ifndef TROIKA_TRAINER_H
#define TROIKA_TRAINER_H

#include <troika/data.h>
#include <troika/group.h>
#include <troika/model.h>

TROIKA_BEGIN_DECLS

/** A model attached to a list of devices, which share its batches, layers and channels. Counted. */
typedef struct troika_trainer_s *troika_trainer;

/** Losses. */
enum {
  /** -log softmax(output)[label]. Targets are labels: one per sample for outputs [batch, classes],
   *  one per step for [batch, steps, classes], one per pixel for [batch, classes, h, w]. */
  TROIKA_LOSS_CROSS_ENTROPY = 1,
  /** Mean over a sample's outputs of (output - value)^2. Targets are values. */
  TROIKA_LOSS_MEAN_SQUARED_ERROR = 2
};

/** How the losses of a batch's labels (or samples, if each has one) become one number. */
enum {
  /** The mean over the whole batch, whatever the number of devices. Ignored labels do not count. */
  TROIKA_REDUCTION_MEAN = 1,
  /** The sum over the whole batch. */
  TROIKA_REDUCTION_SUM = 2
};

/**
 * Optimizers. The formulas are for a parameter w with gradient g, learning rate lr and weight decay
 * wd; t counts updates from 1. Norms are 2-norms of whole parameters, also if a parameter's
 * channels or its state are on several devices. In LARS and LAMB, parameters with one axis (biases,
 * BatchNorm) have ratio 1 and no weight decay.
 */
enum {
  /** g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m).
   *  As torch.optim.SGD without dampening. */
  TROIKA_OPTIMIZER_SGD = 1,
  /** g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
   *  w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps).
   *  Kingma and Ba 2015; torch.optim.Adam. */
  TROIKA_OPTIMIZER_ADAM = 2,
  /** w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019; torch.optim.AdamW. */
  TROIKA_OPTIMIZER_ADAMW = 3,
  /** g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) + eps); w -= lr m.
   *  As torch.optim.RMSprop. */
  TROIKA_OPTIMIZER_RMSPROP = 4,
  /** ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0;
   *  m = momentum m + lr ratio (g + wd w); w -= m.
   *  You, Gitman and Ginsburg 2017. */
  TROIKA_OPTIMIZER_LARS = 5,
  /** m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w;
   *  w -= lr |w| / |r| r, with the ratio |w| / |r| 1 if a norm is 0.
   *  You et al. 2020. */
  TROIKA_OPTIMIZER_LAMB = 6,
  /** g = g + wd w; s = s + g^2; w -= lr g / (sqrt(s) + eps).
   *  Duchi, Hazan and Singer 2011; torch.optim.Adagrad with lr_decay 0. */
  TROIKA_OPTIMIZER_ADAGRAD = 7
};

/**
 * Settings of a trainer and of its groups that may change during training, by
 * `troika_trainer_set_option`.
 */
enum {
  TROIKA_OPTION_LEARNING_RATE = 1,  /**< The base rate, before the schedule; at least 0. */
  TROIKA_OPTION_WEIGHT_DECAY = 2,   /**< At least 0. */
  TROIKA_OPTION_MOMENTUM = 3,       /**< SGD, RMSprop, LARS: in [0, 1). */
  TROIKA_OPTION_NESTEROV = 4,       /**< SGD: 0 or 1. */
  TROIKA_OPTION_BETA1 = 5,          /**< Adam, AdamW, LAMB: in [0, 1). */
  TROIKA_OPTION_BETA2 = 6,          /**< Adam, AdamW, LAMB: in [0, 1). */
  TROIKA_OPTION_EPS = 7,            /**< All except SGD: above 0. */
  TROIKA_OPTION_ALPHA = 8,          /**< RMSprop: in [0, 1). */
  TROIKA_OPTION_TRUST = 9,          /**< LARS: above 0. */
  TROIKA_OPTION_FROZEN = 10         /**< Groups only: 0 or 1. */
};

/**
 * Learning-rate schedules: the rate of step s, which counts from 0, for the base rate lr. With
 * warm-up, a step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate.
 */
enum {
  /** lr */
  TROIKA_SCHEDULE_CONSTANT = 1,
  /** lr * gamma ^ floor(s / period) */
  TROIKA_SCHEDULE_STEP = 2,
  /** lr_min + (lr - lr_min) (1 + cos(pi s / period)) / 2; lr_min from step `period` on. */
  TROIKA_SCHEDULE_COSINE = 3,
  /** lr * gamma ^ (number of milestones that are at most s) */
  TROIKA_SCHEDULE_MULTI_STEP = 4,
  /** lr * gamma ^ (s / period) */
  TROIKA_SCHEDULE_EXPONENTIAL = 5,
  /** lr_min + (lr - lr_min) (1 - s / period) ^ power; lr_min from step `period` on. */
  TROIKA_SCHEDULE_POLYNOMIAL = 6,
  /** Along half a cosine from lr / divisor up to lr at step rise * period - 1.
   *  Then along half a cosine down to lr / divisor / final_divisor at step period - 1.
   *  After that step the rate stays.
   *  As torch.optim.lr_scheduler.OneCycleLR without its change of momentum. */
  TROIKA_SCHEDULE_ONE_CYCLE = 7,
  /** lr * gamma ^ n, at least lr_min (or lr, if that is smaller). The exponent n grows by 1 each
   *  time that more than `patience` metrics in a row were not better than the best metric by
   *  `threshold` (relative). The caller reports metrics with `troika_trainer_report_metric`. As
   *  torch.optim.lr_scheduler.ReduceLROnPlateau. */
  TROIKA_SCHEDULE_PLATEAU = 8,
  /** lr * table[s]; after the table's end the last entry stays. */
  TROIKA_SCHEDULE_TABLE = 9
};

/**
 * Precisions of computation. With any of them, parameters, their gradients, the optimizer's state,
 * BatchNorm's statistics and losses are f32, so weights files do not depend on the precision. A
 * training state loads only with the precision that it was saved with. With BF16 and F16,
 * activations and the factors of convolutions and linear layers are 16 bits wide; sums are computed
 * in f32. On a CPU, BF16 and F16 save no time and often take more memory: they only serve to try
 * out what a GPU will do.
 */
enum {
  TROIKA_PRECISION_F32 = 1,  /**< IEEE single. */
  /** f32, but a GPU that supports TF32 may round the factors of products to 10 bits of fraction. */
  TROIKA_PRECISION_TF32 = 2,
  TROIKA_PRECISION_BF16 = 3, /**< bfloat16. */
  TROIKA_PRECISION_F16 = 4   /**< IEEE half, with dynamic loss scaling. */
};

/**
 * A group of parameters, matched by name, with its own settings. If several groups match a
 * parameter, the first of them counts.
 */
typedef struct troika_parameter_group {
  /** sizeof(troika_parameter_group); the same in all groups of an array. */
  uint32_t struct_size;
  /** 1: the parameters keep their bits, have no gradient and are not communicated. Default 0. */
  int32_t frozen;
  const char *pattern;  /**< `*` any run of characters, `?` any one; must be set. Copied. */
  double learning_rate; /**< Below 0 (default): the trainer's. Follows the schedule too. */
  double weight_decay;  /**< Below 0 (default): the trainer's. */
  /** SGD, RMSprop and LARS. TROIKA_UNSET (default), here and in all fields below: the trainer's. */
  double momentum;
  double beta1;         /**< Adam, AdamW and LAMB. */
  double beta2;         /**< Adam, AdamW and LAMB. */
  double eps;           /**< All optimizers except SGD. */
  double alpha;         /**< RMSprop. */
  double trust;         /**< LARS. */
} troika_parameter_group;

/** No pattern, not frozen, the trainer's settings. */
#define TROIKA_PARAMETER_GROUP_INIT                                                              \
  {                                                                                              \
    sizeof(troika_parameter_group), 0, NULL, -1.0, -1.0, TROIKA_UNSET, TROIKA_UNSET,             \
        TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET                                   \
  }

/** Fills `group` as TROIKA_PARAMETER_GROUP_INIT does. Any thread. */
TROIKA_API(void) troika_parameter_group_init(troika_parameter_group *group, uint32_t struct_size);

/**
 * The order in which the micro-batches of a split by layer pass through its stages;
 * docs/splitting-by-layer.md draws them.
 */
enum {
  /** All forwards, then all backwards: the activations of every micro-batch are kept. */
  TROIKA_LAYER_SCHEDULE_GPIPE = 1,
  /** Alternates one forward and one backward. At most as many micro-batches as stages are in
   *  flight, so fewer activations are kept. */
  TROIKA_LAYER_SCHEDULE_1F1B = 2,
  /** As 1F1B, with several stages per device: less idle time, more messages. */
  TROIKA_LAYER_SCHEDULE_INTERLEAVED = 3
};

/**
 * How devices share the work; there are data * layer * channel devices. In the list of devices,
 * those with channels of the same layers are adjacent. After them come those with the next layers,
 * then those with other samples. 0 in `layer` and `channel` is 1.
 */
typedef struct troika_mesh {
  /** Parts of the batch (data parallelism); 0: as many as there are devices for. */
  int32_t data;
  int32_t layer;   /**< Devices in a row, each with some layers (pipeline parallelism). */
  int32_t channel; /**< Devices that have some channels of each layer (tensor parallelism). */
  int32_t reserved; /**< 0. */
} troika_mesh;

/** How gradients travel between replicas. */
enum {
  TROIKA_COMPRESSION_NONE = 1, /**< f32. */
  /** Each replica rounds its gradient to bf16. The rounded gradients are added in f32, and the sum
   *  is rounded to bf16. */
  TROIKA_COMPRESSION_BF16 = 2
};

/** Options of `troika_model_attach`. Begin with TROIKA_TRAINER_OPTIONS_INIT. */
typedef struct troika_trainer_options {
  uint32_t struct_size;    /**< sizeof(troika_trainer_options). */
  int32_t loss;            /**< Default TROIKA_LOSS_CROSS_ENTROPY. */
  int32_t reduction;       /**< Default TROIKA_REDUCTION_MEAN. */
  int32_t precision;       /**< Default TROIKA_PRECISION_F32. */
  double learning_rate;    /**< At least 0; default 0.1. */
  double momentum;         /**< SGD, RMSprop and LARS: in [0, 1); default 0. */
  double weight_decay;     /**< At least 0; default 0. */
  int32_t nesterov;        /**< 1: Nesterov's momentum: SGD with momentum above 0. Default 0. */
  int32_t schedule;        /**< Default TROIKA_SCHEDULE_CONSTANT. */
  /** Steps; default 0. At least 1 for STEP, COSINE, EXPONENTIAL and POLYNOMIAL, at least 2 for
   *  ONE_CYCLE. */
  int64_t schedule_period;
  double schedule_gamma;   /**< STEP, MULTI_STEP, EXPONENTIAL, PLATEAU: the factor; default 0.1. */
  double schedule_min;     /**< COSINE, POLYNOMIAL, PLATEAU: the least learning rate; default 0. */
  /** Step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate; default 0. */
  int64_t warmup_steps;
  /** The approximate size of an all-reduce bucket; default 1 MiB; 0: one gradient per bucket. */
  int64_t bucket_bytes;
  uint64_t seed;           /**< The seed of dropout; 0 (default): the context's seed. */
  const troika_parameter_group *groups; /**< `group_count` groups; copied. NULL with 0. */
  int32_t group_count;     /**< 0 (default) to 4096. */
  /** A step that takes longer fails with COMM; 1 to 2^31 - 1 milliseconds, default 600000. */
  int32_t deadline_ms;
  /** 1: records every launch and collective for `troika_trainer_trace`. Default 0. */
  int32_t collect_trace;
  int32_t no_fusion;       /**< 1: no fused kernels, for comparison. Default 0. */
  /** The scale that dynamic loss scaling starts with, 1 to 2^24. 0: no loss scaling, also with F16.
   *  TROIKA_UNSET (default): 65536 with F16, no loss scaling with other precisions. */
  double loss_scale;
  /** Good steps in a row after which the loss scale doubles; 1 to 2^24, default 2000. */
  int64_t loss_scale_interval;
  /** Cuts each replica's samples into this many parts, which are computed one after another. Their
   *  gradients are added before the all-reduce. Takes less memory. BatchNorm normalises each part
   *  by itself. 0 to 1024; 0 and 1 (default): one part. Parts that get no sample are left out. */
  int32_t micro_batches;
  /** 0 (default): none. Otherwise cuts each batch into this many shards: a power of 2 up to 1024.
   *  The number of devices may be 1, 2, 4 ... `logical_shards`; parameters get the same bits on
   *  each of these numbers. BatchNorm normalises each shard by itself and tracks the first. A CPU
   *  device computes on one thread. Excludes `micro_batches` above 1. */
  int32_t logical_shards;
  /** Default: all devices share the batch. Splits by layer and by channel exclude `logical_shards`.
   *  `troika_plan_choose` finds the fastest mesh that fits. */
  troika_mesh mesh;
  int32_t layer_schedule;  /**< With mesh.layer above 1; default TROIKA_LAYER_SCHEDULE_1F1B. */
  /** Stages per device, 0 to 1024; default 1; 0 is 1. On a mesh that splits by layer or channel, a
   *  value above 1 needs the interleaved schedule. A split by layer needs at least
   *  `mesh.layer * layer_chunks` layers. */
  int32_t layer_chunks;
  /** Only with mesh.layer above 1: the layer that begins each stage except the first, separated by
   *  commas. NULL (default): cut so that all stages cost about the same. Copied. */
  const char *layer_cuts;
  /** Cuts the forward pass into at most this many segments. Activations within a segment, except
   *  the last, are computed again in backward. 0 (default): none. */
  int32_t recompute_segments;
  /** 1: BatchNorm normalises the samples of all replicas together, as one device with the whole
   *  batch would. With micro-batches, it normalises those at the same place on all replicas
   *  together. Excludes `logical_shards`. Default 0: each replica normalises its own samples. */
  int32_t sync_batch_norm;
  /** Layers whose outputs are computed again: names, with `*` and `?`, separated by commas. NULL
   *  (default): none. */
  const char *recompute_layers;
  /** Chooses what to compute again so that activations fit into this many bytes on each device.
   *  Excludes `recompute_segments` and `recompute_layers`. 0 (default): no budget. */
  int64_t activation_budget_bytes;
  /** Above 0: clips gradients. After their sum over devices, and without the loss scale, all of
   *  them are multiplied by min(1, max_gradient_norm / (norm + 1e-6)). `norm` is the 2-norm of all
   *  gradients together (PyTorch's clip_grad_norm_). 0 (default): no clipping. */
  double max_gradient_norm;
  /** 1: each parameter's optimizer state is stored on only one of the replicas, which updates the
   *  parameter and sends it to the others (ZeRO level 1). Default 0, which computes the same
   *  bits. */
  int32_t shard_optimizer;
  /** Default TROIKA_COMPRESSION_NONE. BF16 excludes `logical_shards`. */
  int32_t gradient_compression;
  /** 0 (default): GPUs keep a dataset that takes at most half of their free memory, from the first
   *  epoch over it on, and gather batches there. If a plan of this trainer needs that memory, the
   *  dataset is evicted. 1: batches are copied from the host. The bits are the same. CPU devices
   *  keep no datasets. Datasets of callbacks, and batches that are drawn by weights, are always
   *  copied from the host. */
  int32_t samples_on_host;
  /** 0 (default): on GPUs, long weight gradients are computed concurrently with the rest of the
   *  backward pass. 1: every launch waits for the one before it, which takes a little less memory.
   *  The bits are the same. */
  int32_t launches_in_turn;
  int32_t optimizer;       /**< Default TROIKA_OPTIMIZER_SGD. */
  /** 1: weight decay skips parameters with one axis (biases, BatchNorm). Default 0. */
  int32_t skip_decay_one_axis;
  double beta1;            /**< Adam, AdamW, LAMB: in [0, 1); TROIKA_UNSET (default): 0.9. */
  double beta2;            /**< Adam, AdamW, LAMB: in [0, 1); TROIKA_UNSET (default): 0.999. */
  /** Above 0; TROIKA_UNSET (default): 1e-8, LAMB 1e-6, LARS 1e-9, Adagrad 1e-10. */
  double eps;
  double alpha;            /**< RMSprop: in [0, 1); TROIKA_UNSET (default): 0.99. */
  double trust;            /**< LARS: above 0; TROIKA_UNSET (default): 0.001. */
  /** Above 0 and below 1: keeps a moving average of each parameter that is trained. The average
   *  starts as the parameter when the trainer first computes. After each update,
   *  `average = average_decay * average + (1 - average_decay) * parameter`.
   *  0 (default): no averages. */
  double average_decay;
  /** 0 (default): evaluation and prediction use the averages, if there are any. 1: the
   *  parameters. */
  int32_t evaluate_parameters;
  int32_t schedule_maximize;     /**< PLATEAU: 1: larger metrics are better. Default 0. */
  double schedule_power;         /**< POLYNOMIAL: above 0; default 1. */
  double schedule_rise;          /**< ONE_CYCLE: in (0, 1); default 0.3. */
  double schedule_divisor;       /**< ONE_CYCLE: at least 1; default 25. */
  double schedule_final_divisor; /**< ONE_CYCLE: at least 1; default 1e4. */
  double schedule_threshold;     /**< PLATEAU: in [0, 1); default 1e-4. */
  int64_t schedule_patience;     /**< PLATEAU: at least 0; default 10. */
  /** MULTI_STEP: `schedule_milestone_count` steps of at least 0, in ascending order. Copied. */
  const int64_t *schedule_milestones;
  /** TABLE: `schedule_table_count` factors of at least 0. Copied. */
  const double *schedule_table;
  int32_t schedule_milestone_count; /**< 0 (default) to 65536; MULTI_STEP: at least 1. */
  int32_t schedule_table_count;     /**< 0 (default) to 2^24; TABLE: at least 1. */
  /** Cross-entropy: s in [0, 1). The loss of a label is 1 - s times its own loss plus s times the
   *  mean of the losses of all classes (PyTorch's label_smoothing). Default 0. */
  double label_smoothing;
  /** Cross-entropy: a label that weighs nothing. It has no loss and no gradient, and is not
   *  counted, also not in the mean (PyTorch's ignore_index). If a batch has no other label, its
   *  loss is 0 and its gradient is 0. TROIKA_UNSET (default): none. */
  int64_t ignore_index;
  /** 1: a step with a gradient that is not finite changes no parameter and returns STEP_SKIPPED, in
   *  any precision and without loss scaling too. 0 (default): only loss scaling skips steps. */
  int32_t skip_not_finite;
  int32_t reserved; /**< 0. */
  /** Attaches the devices of all processes of the group as one list: `devices` are those of this
   *  process, and `mesh` is over all. The processes of a machine are neighbours in the list.
   *  Collective, as all calls of the trainer that compute, read or write state: each process passes
   *  its own samples. NULL (default): this process alone. */
  troika_group group;
} troika_trainer_options;

/** Every field at its default. */
#define TROIKA_TRAINER_OPTIONS_INIT                                                              \
  {                                                                                              \
    sizeof(troika_trainer_options), TROIKA_LOSS_CROSS_ENTROPY, TROIKA_REDUCTION_MEAN,            \
        TROIKA_PRECISION_F32, 0.1, 0.0, 0.0, 0, TROIKA_SCHEDULE_CONSTANT, 0, 0.1, 0.0, 0,        \
        1048576, 0, NULL, 0, 600000, 0, 0, TROIKA_UNSET, 2000, 1, 0, {0, 1, 1, 0},               \
        TROIKA_LAYER_SCHEDULE_1F1B, 1, NULL, 0, 0, NULL, 0, 0.0, 0, TROIKA_COMPRESSION_NONE, 0,  \
        0, TROIKA_OPTIMIZER_SGD, 0, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET,      \
        TROIKA_UNSET, 0.0, 0, 0, 1.0, 0.3, 25.0, 1e4, 1e-4, 10, NULL, NULL, 0, 0, 0.0,           \
        TROIKA_UNSET, 0, 0, NULL                                                                 \
  }

/** Fills `options` as TROIKA_TRAINER_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_trainer_options_init(troika_trainer_options *options, uint32_t struct_size);

/**
 * Attaches a model to `device_count` devices of one kind, 1 to 1024, with one replica on each; the
 * same device twice gets two replicas. Parameters without a value take the model's default
 * initialisation. All replicas start from the model's parameters and stay bit-identical. A model
 * has one trainer at a time: attaching again takes the parameters over, and calls on the earlier
 * trainer return DETACHED.
 *
 * A step computes what a single device computes on the whole batch. Samples are split evenly: sizes
 * differ by at most one, and a device may get none. Every sample weighs the same. Gradients are
 * summed in pairs of the list of devices, then in pairs of pairs. Without `logical_shards`, GPUs
 * that are each named once are connected by NCCL, which adds in its own order.
 *
 * The exception is BatchNorm: with `sync_batch_norm` 0, each device normalises its own samples. The
 * running statistics are those of the first device. `options.mesh` also splits the network by layer
 * and by channel. Each device then holds its part of the network. A step computes the same, except
 * that BatchNorm normalises each micro-batch by itself.
 *
 * `options` may be NULL: defaults. Owned: destroy `*out_trainer` with `troika_trainer_destroy`.
 *
 * Errors:
 * - INVALID_ARGUMENT: a field, which the message names.
 * - INVALID_ARGUMENT: devices of several kinds; a mesh that does not fit the number of devices or
 *   the model.
 * - INVALID_ARGUMENT: a model with no output, or with nothing left to train; a parameter that does
 *   not reach the loss.
 * - NOT_FOUND: a group, or a pattern of `recompute_layers`, that matches nothing; a layer of
 *   `layer_cuts` that the model does not have.
 * - UNSUPPORTED: `logical_shards` with a split by layer or channel; a parameter shared by layers
 *   that a split by channel cuts differently.
 * - DEVICE_UNAVAILABLE: names the device.
 * - OUT_OF_MEMORY: also if activations cannot fit into `activation_budget_bytes`.
 * - BUSY: also while the model's earlier trainer is in a call.
 * - COMM: a step of the earlier trainer missed its deadline and still runs.
 *
 * One thread per model at a time.
 */
TROIKA_API(troika_status) troika_model_attach(troika_model model, const troika_device *devices,
                                              int32_t device_count,
                                              const troika_trainer_options *options,
                                              troika_trainer *out_trainer, troika_error *error);

/**
 * Gives up the caller's hold on a trainer; its parameters stay with the model. NULL is ignored.
 * Never fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_trainer_destroy(troika_trainer trainer);

/** The result of a step. Filled by `troika_trainer_step`. */
typedef struct troika_step_result {
  uint32_t struct_size;  /**< Set by the caller to sizeof(troika_step_result). */
  int32_t reserved;      /**< 0. */
  double loss;           /**< Loss of the batch before the update: mean or sum, by `reduction`. */
  int64_t samples;       /**< Samples in the batch. */
  /** Those of `labels` whose largest output is the label's own; 0 for other losses. A label whose
   *  outputs are not numbers is not correct. */
  int64_t correct;
  int64_t step;          /**< Steps done, including this one. */
  double learning_rate;  /**< The trainer's rate that this step used; groups may have others. */
  double seconds;        /**< Wall-clock time of the step. */
  double loss_scale;     /**< The loss scale that this step used; 1 without loss scaling. */
  /** The 2-norm of all gradients together before clipping; not finite if one of them is not. 0
   *  without `max_gradient_norm`. */
  double gradient_norm;
  /** Labels that are not ignored, over which the mean is computed; `samples` for other losses. */
  int64_t labels;
} troika_step_result;

/** All zero except `struct_size`. */
#define TROIKA_STEP_RESULT_INIT \
  { sizeof(troika_step_result), 0, 0.0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0 }

/** Fills `result` as TROIKA_STEP_RESULT_INIT does. Any thread. */
TROIKA_API(void) troika_step_result_init(troika_step_result *result, uint32_t struct_size);

/**
 * Trains on one batch: forward, loss, backward, all-reduce of gradients, update. `out_result` may
 * be NULL. On GPUs, without loss scaling and `skip_not_finite`, the call then returns while the
 * step still runs, and an error of the step is returned by a later call. A batch of a new size
 * compiles a plan first, so this step takes longer.
 *
 * Returns STEP_SKIPPED if loss scaling, or `skip_not_finite`, met a gradient that is not finite on
 * any device. Parameters and optimizer state are then unchanged. The loss scale is halved, but not
 * below 1. The step still counts for `step`, schedule and warm-up, and BatchNorm's running
 * statistics have changed. In any step, running statistics of a channel stay as they are if those
 * of the batch are not finite.
 *
 * Returns STOPPED after `troika_trainer_request_stop`; nothing is done then.
 *
 * Errors:
 * - INVALID_ARGUMENT, with nothing changed: type or shape of the inputs; kind or number of targets;
 *   a label or token outside its range; a share of the batch that BatchNorm cannot normalise;
 *   samples in another order than `troika_trainer_load` expects.
 * - OUT_OF_MEMORY: the trainer stays usable with a smaller batch.
 * - UNSUPPORTED: an op that a device has no kernel for.
 * - BUSY, COMM, DETACHED.
 *
 * One thread per trainer at a time; reads the batch.
 */
TROIKA_API(troika_status) troika_trainer_step(troika_trainer trainer, troika_batch batch,
                                              troika_step_result *out_result, troika_error *error);

/** The progress after a batch, as a progress callback receives it. */
typedef struct troika_progress {
  uint32_t struct_size;  /**< The bytes that the library filled. */
  int32_t reserved;      /**< 0. */
  int64_t batch;         /**< Batches of this epoch that are done. */
  int64_t batches;       /**< Batches in the epoch; see `troika_loader_position` for streams. */
  int64_t epoch;         /**< Epoch of the loader, from 0. */
  int64_t samples;       /**< Samples done in this call. */
  int64_t correct;       /**< Those of `labels` that were classified correctly. */
  double loss;           /**< Mean over the labels of this call. */
  double seconds;        /**< Since the call began. */
  int32_t training;      /**< 1 while training, 0 while evaluating or predicting. */
  /** 1: this batch's step was skipped (STEP_SKIPPED). If the loss of the batch is then not finite,
   *  the sums over this call leave the batch out. */
  int32_t skipped;
  double batch_loss;     /**< Mean over the labels of this batch. */
  int64_t batch_samples; /**< Samples of this batch. */
  int64_t batch_correct; /**< Those of `batch_labels` that were classified correctly. */
  double learning_rate;  /**< The trainer's rate that this step used; 0 while evaluating. */
  /** Labels done in this call that are not ignored; samples for other losses. */
  int64_t labels;
  int64_t batch_labels;  /**< Those of `labels` that belong to this batch. */
} troika_progress;

/**
 * A progress callback. It is called after each batch of `troika_trainer_train_epoch`,
 * `troika_trainer_train_batches`, `troika_trainer_predict_loader` and evaluations, on the thread
 * that called them. Non-zero stops the call. An exception of C++ ends the call with CALLBACK. On
 * GPUs, training on the next batch may have started by then; that step completes and counts.
 * Borrowed until the callback returns: `progress`. The callback must not call this trainer, except
 * `troika_trainer_request_stop`.
 */
typedef int32_t(TROIKA_CALL *troika_progress_function)(const troika_progress *progress,
                                                       void *user);

/**
 * Sets the progress callback; NULL removes it. `user_destroy`, if not NULL, is called with `user`
 * when another callback takes its place, or when the trainer is destroyed. If the call fails, it is
 * not called. Errors: BUSY. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_set_progress(troika_trainer trainer,
                                                      troika_progress_function function, void *user,
                                                      troika_destroy_function user_destroy,
                                                      troika_error *error);

/** Sums over many batches. Filled by calls that train on or evaluate the batches of a loader. */
typedef struct troika_metrics {
  uint32_t struct_size; /**< Set by the caller to sizeof(troika_metrics). */
  int32_t reserved;     /**< 0. */
  double loss;          /**< Mean over all labels. */
  double accuracy;      /**< correct / labels. */
  int64_t samples;      /**< Samples seen. */
  int64_t correct;      /**< Labels whose largest output is the label's own. */
  double seconds;       /**< Wall-clock time. */
  int64_t labels;       /**< Labels seen that are not ignored; `samples` for other losses. */
  int64_t skipped_steps; /**< Steps that were skipped (STEP_SKIPPED); 0 of an evaluation. */
} troika_metrics;

/** All zero except `struct_size`. */
#define TROIKA_METRICS_INIT \
  { sizeof(troika_metrics), 0, 0.0, 0.0, 0, 0, 0.0, 0, 0 }

/** Fills `metrics` as TROIKA_METRICS_INIT does. Any thread. */
TROIKA_API(void) troika_metrics_init(troika_metrics *metrics, uint32_t struct_size);

/**
 * Trains on the remaining batches of the loader's epoch, one step per batch, and leaves the loader
 * at the start of the next epoch. `out_metrics` may be NULL; it is filled for STOPPED too. A batch
 * whose step was skipped counts in it only if its loss is finite.
 *
 * Returns STOPPED after `troika_trainer_request_stop`, or if the progress callback returned
 * non-zero, or if the dataset's callback wants to stop. After STOPPED and CALLBACK, and after a
 * batch that is refused, the loader is at the batch after the last one that was trained on. After
 * COMM and other errors of a step, go on from a training state instead.
 *
 * Errors: those of `troika_trainer_step`; INVALID_ARGUMENT also if the loader's dataset is too
 * small for any batch; BUSY also if the loader is in use; CALLBACK (of the dataset or of the
 * progress). One thread per trainer, and per loader, at a time.
 */
TROIKA_API(troika_status) troika_trainer_train_epoch(troika_trainer trainer, troika_loader loader,
                                                     troika_metrics *out_metrics,
                                                     troika_error *error);

/**
 * Trains as `troika_trainer_train_epoch` does, on at most `batches` of the epoch's remaining
 * batches. No further step has begun when the call returns, so a training state that is saved then
 * is exactly that of the last of these steps. Returns END_OF_DATA if the call reached the end of
 * the epoch; the loader is then at the start of the next one. If the last batch of a stream is
 * full, only the next call reaches the end.
 *
 * Errors: those of `troika_trainer_train_epoch`; INVALID_ARGUMENT also if `batches` is below 1. One
 * thread per trainer, and per loader, at a time.
 */
TROIKA_API(troika_status) troika_trainer_train_batches(troika_trainer trainer, troika_loader loader,
                                                       int64_t batches, troika_metrics *out_metrics,
                                                       troika_error *error);

/**
 * Evaluates an epoch of the loader, from its first batch, on all attached devices. Sums losses and
 * counts over the samples, so the result is exact for any number of samples. BatchNorm uses its
 * running statistics; nothing is changed. Leaves the loader at the start of the next epoch, except
 * after STOPPED.
 *
 * Returns STOPPED after `troika_trainer_request_stop`, or if the progress callback returned
 * non-zero, or if the dataset's callback wants to stop. `out_metrics` may be NULL; it is filled for
 * STOPPED too.
 *
 * Errors: those of `troika_trainer_train_epoch`. One thread per trainer, and per loader, at a time.
 */
TROIKA_API(troika_status) troika_trainer_evaluate(troika_trainer trainer, troika_loader loader,
                                                  troika_metrics *out_metrics, troika_error *error);

/**
 * Evaluates as `troika_trainer_evaluate` does, on only one attached device, with no communication.
 *
 * Errors: those of `troika_trainer_evaluate`; NOT_ON_DEVICE if the model is not attached to
 * `device`; UNSUPPORTED also if the model is split by layer or channel. One thread per trainer, and
 * per loader, at a time.
 */
TROIKA_API(troika_status) troika_trainer_evaluate_on(troika_trainer trainer, troika_device device,
                                                     troika_loader loader,
                                                     troika_metrics *out_metrics,
                                                     troika_error *error);

/**
 * Evaluates one batch as `troika_trainer_evaluate` does, such as a batch of the caller's own.
 * `out_result` receives loss (mean or sum, by `reduction`), samples, labels, correct and seconds;
 * its other fields are 0.
 *
 * Returns STOPPED after `troika_trainer_request_stop`. Errors: those of `troika_trainer_step`. One
 * thread per trainer at a time; reads the batch.
 */
TROIKA_API(troika_status) troika_trainer_evaluate_batch(troika_trainer trainer, troika_batch batch,
                                                        troika_step_result *out_result,
                                                        troika_error *error);

/**
 * Predicts an epoch of the loader, from its first batch, on all attached devices. `output` is f32
 * [samples, the output's shape] in host memory, `size_bytes` long, with samples in the loader's
 * order. `*out_samples`, if not NULL, receives the number of samples, also for STOPPED. Targets are
 * not read. Leaves the loader at the start of the next epoch, except after STOPPED and errors.
 *
 * Returns STOPPED after `troika_trainer_request_stop`, or if the progress callback returned
 * non-zero, or if the dataset's callback wants to stop.
 *
 * Errors: those of `troika_trainer_predict`; INVALID_ARGUMENT also if `size_bytes` is too small for
 * the loader's samples, which a stream finds out at the batch that no longer fits, or if there is
 * no batch; BUSY also if the loader is in use; CALLBACK. One thread per trainer, and per loader, at
 * a time.
 */
TROIKA_API(troika_status) troika_trainer_predict_loader(troika_trainer trainer,
                                                        troika_loader loader, float *output,
                                                        int64_t size_bytes, int64_t *out_samples,
                                                        troika_error *error);

/**
 * Predicts one batch as `troika_trainer_predict` does, into host memory: `output` is f32 [samples,
 * the output's shape], `size_bytes` long. Targets are not read, and the batch may have none.
 *
 * Errors: those of `troika_trainer_predict`; INVALID_ARGUMENT also if `size_bytes` differs. One
 * thread per trainer at a time; reads the batch.
 */
TROIKA_API(troika_status) troika_trainer_predict_batch(troika_trainer trainer, troika_batch batch,
                                                       float *output, int64_t size_bytes,
                                                       troika_error *error);

/**
 * Runs the network in evaluation mode on all attached devices. `input` is [batch, ...], of the type
 * of the model's input. The output is a new f32 tensor [batch, the output's shape] on the first
 * device, with samples in the order of the input.
 *
 * Owned: destroy `*out_output`. Errors: INVALID_ARGUMENT (shape or dtype, a token outside its
 * range), OUT_OF_MEMORY, UNSUPPORTED (an op that a device has no kernel for), BUSY, COMM, DETACHED.
 * One thread per trainer at a time; reads `input`.
 */
TROIKA_API(troika_status) troika_trainer_predict(troika_trainer trainer, troika_tensor input,
                                                 troika_tensor *out_output, troika_error *error);

/**
 * Asks for a stop. Training on a loader, or evaluation, that is in progress returns STOPPED between
 * two batches, also while it waits for the loader's thread. If neither is in progress, the next
 * step, training or evaluation returns STOPPED. A step in progress completes; a plan that is being
 * compiled is given up. The request holds until a call returns STOPPED, or until
 * `troika_trainer_clear_stop`. Loading, saving and predicting, except
 * `troika_trainer_predict_loader`, take no notice of it.
 *
 * Errors: only INVALID_ARGUMENT, if the handle is not a trainer's. Any thread, at any time; also
 * from a signal handler.
 */
TROIKA_API(troika_status) troika_trainer_request_stop(troika_trainer trainer, troika_error *error);

/**
 * Takes back a stop that was asked for and that no call has returned yet. Errors, threads and
 * signal handlers: as `troika_trainer_request_stop`.
 */
TROIKA_API(troika_status) troika_trainer_clear_stop(troika_trainer trainer, troika_error *error);

/**
 * Sets the base learning rate from the next step on; the schedule continues and multiplies the new
 * rate. `group` is an index into the options' groups, or -1 for the trainer. A group then has its
 * own rate.
 *
 * Errors: INVALID_ARGUMENT (below 0, not finite, no such group), BUSY, COMM, DETACHED. One thread
 * per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_set_learning_rate(troika_trainer trainer, int32_t group,
                                                           double learning_rate,
                                                           troika_error *error);

/**
 * Returns in `*out_learning_rate` the learning rate that the next step will use, with schedule and
 * warm-up applied. `group` is as in `troika_trainer_set_learning_rate`.
 *
 * Errors: INVALID_ARGUMENT (no such group), BUSY. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_learning_rate(troika_trainer trainer, int32_t group,
                                                           double *out_learning_rate,
                                                           troika_error *error);

/**
 * Sets an option (TROIKA_OPTION_*) from the next step on. `group` is an index into the options'
 * groups, or -1 for the trainer. A group without its own value has the trainer's.
 *
 * Nothing is attached or compiled again, except that TROIKA_OPTION_FROZEN makes new plans.
 * Parameters that become frozen lose their optimizer state, and parameters that are no longer
 * frozen begin without any. All other parameters keep theirs. A training state keeps the values of
 * options, and loads into a trainer with the same groups frozen.
 *
 * Errors, after which nothing has changed:
 * - INVALID_ARGUMENT: no such group; an option that the optimizer does not have; a value out of its
 *   range; nothing left to train.
 * - INVALID_ARGUMENT: momentum above 0 if the trainer was attached without momentum.
 * - OUT_OF_MEMORY, BUSY, COMM, DETACHED.
 *
 * One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_set_option(troika_trainer trainer, int32_t group,
                                                    int32_t option, double value,
                                                    troika_error *error);

/**
 * Returns the value of an option (TROIKA_OPTION_*) in `*out_value`. The value of a learning rate is
 * the base rate, before the schedule. `group` is as in `troika_trainer_set_option`.
 *
 * Errors: INVALID_ARGUMENT (no such group, an option that the optimizer does not have), BUSY. One
 * thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_option(troika_trainer trainer, int32_t group,
                                                    int32_t option, double *out_value,
                                                    troika_error *error);

/**
 * Reports a metric of the caller to a trainer whose schedule is TROIKA_SCHEDULE_PLATEAU, usually
 * once per evaluation. The learning rate may fall from the next step on.
 *
 * Errors: INVALID_ARGUMENT (another schedule, a metric that is NaN), BUSY, COMM, DETACHED. One
 * thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_report_metric(troika_trainer trainer, double metric,
                                                       troika_error *error);

/**
 * Copies the parameter or buffer that the replica on `device` holds, row-major, into `data` in host
 * memory, `size_bytes` long. If several replicas are on `device`, the first counts. A parameter
 * that a split by channel has cut is copied whole, from all devices that hold a part.
 *
 * Errors: NOT_FOUND (no such name), NOT_ON_DEVICE (names the parameter, the device and the devices
 * that hold the parameter), INVALID_ARGUMENT if the size differs, OUT_OF_MEMORY, BUSY, COMM,
 * DETACHED. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_parameter(troika_trainer trainer, const char *name,
                                                       troika_device device, void *data,
                                                       int64_t size_bytes, troika_error *error);

/**
 * Copies the gradient of the last step into `data` in host memory, `size_bytes` long: f32,
 * row-major, in the parameter's shape. The gradient is reduced over all devices, without the loss
 * scale, and not clipped.
 *
 * Errors:
 * - NOT_FOUND: no such name.
 * - NOT_INITIALIZED: a frozen parameter or a buffer; no step yet, also since `troika_trainer_load`
 *   or since TROIKA_OPTION_FROZEN last changed.
 * - INVALID_ARGUMENT: the size differs.
 * - OUT_OF_MEMORY, BUSY, COMM, DETACHED.
 *
 * One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_gradient(troika_trainer trainer, const char *name,
                                                      float *data, int64_t size_bytes,
                                                      troika_error *error);

/**
 * Compares parameters and optimizer state of all replicas bit by bit, and returns OK if they are
 * identical. BatchNorm's running statistics are not compared: they belong to the first device.
 *
 * Errors: MISMATCH (names parameter and devices), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread
 * per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_check_replicas(troika_trainer trainer,
                                                        troika_error *error);

/**
 * Writes a training state, from which training resumes bit for bit on the same mesh and correctly
 * on any other mesh; with `logical_shards` bit for bit there too. The state has parameters,
 * buffers, optimizer state, schedule, step, seeds, and the place in the epoch after the last batch.
 * It is one safetensors file, written atomically; its bytes do not depend on the mesh.
 *
 * Errors: IO, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_save(troika_trainer trainer, const char *path,
                                              troika_error *error);

/** How a training state is saved. Begin with TROIKA_SAVE_OPTIONS_INIT. */
typedef struct troika_save_options {
  uint32_t struct_size;  /**< sizeof(troika_save_options). */
  /** 0 (default): writes the file at `path`. K above 0: puts the step before the extension, as in
   *  state-000000001200.safetensors for the path state.safetensors, and removes all but the newest
   *  K of these files. At most 65536. */
  int32_t keep;
  /** 1: the call returns when the state has been copied to host memory. A thread of the library
   *  writes the file. Default 0. */
  int32_t in_background;
  int32_t reserved;      /**< 0. */
} troika_save_options;

/** One file, written before the call returns. */
#define TROIKA_SAVE_OPTIONS_INIT \
  { sizeof(troika_save_options), 0, 0, 0 }

/** Fills `options` as TROIKA_SAVE_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_save_options_init(troika_save_options *options, uint32_t struct_size);

/**
 * Writes a training state as `troika_trainer_save` does, with options. `options` may be NULL.
 *
 * In the background, one file is written at a time: the call waits for the file before. An error of
 * the file is returned by the next call of this function or of `troika_trainer_wait_save`, which
 * then does nothing else. Destroying the trainer waits for the file.
 *
 * Errors: those of `troika_trainer_save`; INVALID_ARGUMENT (a field, which the message names; a
 * path that ends in a slash). One thread per trainer at a time.
 *
 *     troika_save_options options = TROIKA_SAVE_OPTIONS_INIT;
 *     options.keep = 3;
 *     options.in_background = 1;
 *     troika_trainer_save_with(trainer, "run/state.safetensors", &options, &error);
 */
TROIKA_API(troika_status) troika_trainer_save_with(troika_trainer trainer, const char *path,
                                                   const troika_save_options *options,
                                                   troika_error *error);

/**
 * Waits until no file of `troika_trainer_save_with` is being written, and returns the error of the
 * last one. Errors: those of `troika_trainer_save`. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_wait_save(troika_trainer trainer, troika_error *error);

/**
 * Writes a model file, as `troika_model_save` does, with the moving averages of the parameters that
 * are trained. Other parameters and buffers are written as they are. The file is
 * written atomically.
 *
 * Errors: INVALID_ARGUMENT (attached without `average_decay`), IO, OUT_OF_MEMORY, BUSY, COMM,
 * DETACHED. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_save_average(troika_trainer trainer, const char *path,
                                                      troika_error *error);

/**
 * Reads a training state. The model, the options that determine the run (precision, optimizer,
 * loss, schedule, seed, groups and others), and every name and shape must agree. A refused file
 * changes nothing.
 *
 * `out_position`, if not NULL, receives the place in the epoch for `troika_loader_seek`. A loader
 * that is moved there must have the `shuffle`, `seed` and `weights` of the run that was saved. If
 * its next batch has samples in another order, a step refuses that batch with INVALID_ARGUMENT.
 * With NULL the caller is responsible for the order.
 *
 * Errors: NOT_FOUND (no such file), IO, CORRUPT (its format, or the checksum of its data), MISMATCH
 * (the message names the first difference), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per
 * trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_load(troika_trainer trainer, const char *path,
                                              troika_loader_position *out_position,
                                              troika_error *error);

/**
 * Returns the single-device model, which shares the trained parameters: another hold on the model
 * that was attached. It can be used on any device: saved, printed, asked to predict, or attached
 * again. The trainer stays usable.
 *
 * Owned: destroy `*out_model` with `troika_model_destroy`. Errors: OUT_OF_MEMORY, BUSY, DETACHED.
 * One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_unwrap(troika_trainer trainer, troika_model *out_model,
                                                troika_error *error);

/** Memory of one replica in bytes. Filled by `troika_trainer_memory`. */
typedef struct troika_memory_info {
  uint32_t struct_size;    /**< Set by the caller to sizeof(troika_memory_info). */
  /** Compiled plans: one per mode and batch size. At most 16 are kept. */
  int32_t plans;
  int64_t arena_bytes;     /**< Activations, their gradients and scratch, shared by all plans. */
  int64_t parameter_bytes; /**< Parameters and buffers. */
  int64_t gradient_bytes;  /**< Gradients of parameters; twice after sums over passes. */
  int64_t optimizer_bytes; /**< Optimizer state. */
  int64_t sample_bytes;    /**< Datasets that the device keeps (`samples_on_host`). */
} troika_memory_info;

/** All zero except `struct_size`. */
#define TROIKA_MEMORY_INFO_INIT \
  { sizeof(troika_memory_info), 0, 0, 0, 0, 0, 0 }

/** Fills `info` as TROIKA_MEMORY_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_memory_info_init(troika_memory_info *info, uint32_t struct_size);

/**
 * Returns the memory of replica `replica` (0 .. n-1). Errors: NOT_FOUND (no such replica), BUSY.
 * One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_memory(troika_trainer trainer, int32_t replica,
                                                troika_memory_info *out_info, troika_error *error);

/**
 * Writes the plan for a training batch of `batch` samples as text: every launch of each replica,
 * with its kernel, layouts and place in the arena. Compiles the plan if it does not exist yet. The
 * rules for the buffer are those of `troika_model_print`. Returns STOPPED, with nothing written, if
 * a stop is requested while the plan is compiled.
 *
 * Errors: INVALID_ARGUMENT (a batch below 1 or one that no step would take, a capacity below 0),
 * OUT_OF_MEMORY, UNSUPPORTED (an op that a device has no kernel for), BUSY, COMM, DETACHED. One
 * thread per trainer at a time.
 */
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_trainer_explain(troika_trainer trainer, int64_t batch,
                                                 char *buffer, int64_t capacity, int64_t *out_size,
                                                 troika_error *error);

/**
 * Writes the trace of the last step, one line per event: "replica begin_us end_us name", in
 * microseconds since the begin of the first event. Needs `collect_trace`. The rules for the buffer
 * are those of `troika_model_print`.
 *
 * Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (a capacity below 0), BUSY. One thread
 * per trainer at a time.
 */
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_trainer_trace(troika_trainer trainer, char *buffer,
                                               int64_t capacity, int64_t *out_size,
                                               troika_error *error);

TROIKA_END_DECLS

#endif
