/** @file trainer_options.h The options of a trainer: loss, optimizer, schedule, precision, mesh.
 *
 * Threads: every function of this header may be called from any thread at any time.
 */
#ifndef TROIKA_TRAINER_OPTIONS_H
#define TROIKA_TRAINER_OPTIONS_H

#include <troika/group.h>
#include <troika/status.h>

TROIKA_BEGIN_DECLS

/** Losses. */
enum {
  /** -log softmax(output)[label]. Targets are labels: one per sample for outputs [batch, classes],
   *  one per step for [batch, steps, classes], one per pixel for [batch, classes, h, w]. */
  TROIKA_LOSS_CROSS_ENTROPY = 1,
  /** Mean over a sample's outputs of (output - value)^2. Targets are values, as those of the
   *  losses below. */
  TROIKA_LOSS_MEAN_SQUARED_ERROR = 2,
  TROIKA_LOSS_MEAN_ABSOLUTE_ERROR = 3,  /**< Mean over a sample's outputs of |output - value|. */
  /** Mean over a sample's outputs of d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2), for d =
   *  output - value and delta = `huber_delta` (Huber 1964). */
  TROIKA_LOSS_HUBER = 4,
  /** Mean over a sample's outputs of -value log(p) - (1 - value) log(1 - p), for p =
   *  sigmoid(output): several classes may be true at once. Outputs are logits; values are
   *  probabilities, such as 0 and 1. */
  TROIKA_LOSS_BINARY_CROSS_ENTROPY = 5
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
 * warm-up, a step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate. COSINE,
 * POLYNOMIAL and EXPONENTIAL begin after the warm-up: w is warmup_steps, and before step w their
 * rate is lr. A run that an earlier version began goes on as it began, with w = 0.
 */
enum {
  /** lr */
  TROIKA_SCHEDULE_CONSTANT = 1,
  /** lr * gamma ^ floor(s / period) */
  TROIKA_SCHEDULE_STEP = 2,
  /** lr_min + (lr - lr_min) (1 + cos(pi (s - w) / (period - w))) / 2; lr_min from step `period`
   *  on. */
  TROIKA_SCHEDULE_COSINE = 3,
  /** lr * gamma ^ (number of milestones that are at most s) */
  TROIKA_SCHEDULE_MULTI_STEP = 4,
  /** lr * gamma ^ ((s - w) / period) */
  TROIKA_SCHEDULE_EXPONENTIAL = 5,
  /** lr_min + (lr - lr_min) (1 - (s - w) / (period - w)) ^ power; lr_min from step `period` on. */
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
 * in f32. On a CPU with AMX, a step in BF16 is up to 1.4 times as fast. On other CPUs, BF16 and
 * F16 save no time and often take more memory: they only serve to try out what a GPU will do.
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
  /** 1: records every launch and collective for `troika_trainer_trace` and
   *  `troika_trainer_save_trace`. Default 0. */
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
  /** 1: weight decay skips parameters with one axis: biases, and norms over one axis. Default
   *  0. */
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
  /** 1: between processes, an update may wait until the next step is about to read its parameters.
   *  So sums of gradients also travel during the next forward pass, which hides a network that is
   *  as slow as the devices. The bits are the same. Calls that read parameters, or that evaluate,
   *  run the last update first. If a process is lost meanwhile, parameters may lack that update.
   *  Updates of the first three steps with a size of batch are not late; the third is measured.
   *  Needs a mesh that splits by data alone. Excludes `max_gradient_norm`, loss scaling,
   *  `skip_not_finite`, `shard_optimizer`, and CPUs next to GPUs. No effect on GPUs alone, and
   *  between processes that share memory. Default 0: a step ends with its update. */
  int32_t late_updates;
  /** Attaches the devices of all processes of the group as one list: `devices` are those of this
   *  process, and `mesh` is over all. The processes of a machine are neighbours in the list.
   *  Collective, as all calls of the trainer that compute, read or write state: each process passes
   *  its own samples. Before each batch the processes compare their steps done, settings and
   *  positions in the data; MISMATCH names what differs, and nothing is done. Values that the hosts
   *  have written into their models since the last batch are replaced by those of rank 0. If a stop
   *  is requested in one process, the call returns STOPPED in all. NULL (default): this process
   *  alone. */
  troika_group group;
  double huber_delta;      /**< TROIKA_LOSS_HUBER: above 0; default 1. */
  /** Cross-entropy: `class_weight_count` weights, one for each class of the model. A label's loss
   *  is multiplied by the weight of its class. With TROIKA_REDUCTION_MEAN, the sum of a batch's
   *  losses is divided by the sum of the weights of its labels (PyTorch's weight, without label
   *  smoothing). If all weigh 0, loss and gradient are 0. Each is 0, or from 1e-15 to 1e15, and
   *  rounded to f32. `correct` and `labels` of results count labels, whatever they weigh. NULL
   *  (default): 1 each. Copied. */
  const double *class_weights;
  int32_t class_weight_count; /**< 0 (default) to 2^24. */
  /** 1: samples may have weights (`troika_dataset_weigh`, `troika_batch_create_weighted`), which
   *  multiply their losses as weights of classes do. Samples without a weight have 1. Batches are
   *  copied from the host. 0 (default): a batch with weights is refused. */
  int32_t sample_weights;
  /** Sizes of the parts of each batch, for devices of different speed: `share_count` numbers above
   *  0, one for each of the mesh's data parts. Numbers 3 and 1 divide a batch of 10 into 8 and 2
   *  samples. A part may get no sample of a small batch. None is above 1e6 times another. The
   *  result is that of equal parts, up to rounding, without BatchNorm or with `sync_batch_norm`.
   *  Otherwise BatchNorm's running statistics are those of the largest part. Excludes
   *  `logical_shards`. NULL (default): equal parts. Copied. */
  const double *shares;
  int32_t share_count; /**< 0 (default) to 65536. */
  int32_t reserved2;   /**< 0. */
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
        TROIKA_UNSET, 0, 0, NULL, 1.0, NULL, 0, 0, NULL, 0, 0                                    \
  }

/** Fills `options` as TROIKA_TRAINER_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_trainer_options_init(troika_trainer_options *options, uint32_t struct_size);

TROIKA_END_DECLS

#endif
