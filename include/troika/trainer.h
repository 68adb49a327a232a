/** @file trainer.h Trainers: a model attached to devices, with its loss, optimizer and schedule.
 *
 * Threads: a trainer takes one call at a time, from any thread; a second one gets BUSY, also from within its progress
 * callback. `troika_trainer_request_stop` alone may be called from any thread at any time.
 *
 * Two errors stay: DETACHED, where the model was attached to another trainer since, and COMM, where a step failed half
 * way (a device, a deadline), so that replicas may differ; attach the model again then, and load a training state.
 */
#ifndef TROIKA_TRAINER_H
#define TROIKA_TRAINER_H

#include <troika/data.h>
#include <troika/model.h>

TROIKA_BEGIN_DECLS

/** A model attached to a list of devices, which share its batches, its layers and their channels. Counted. */
typedef struct troika_trainer_s *troika_trainer;

/** Losses. */
enum {
  /** -log softmax(output)[label]; targets are labels. Outputs [batch, classes] need one label per sample; [batch, steps,
   *  classes] one per step; [batch, classes, h, w] one per pixel. */
  TROIKA_LOSS_CROSS_ENTROPY = 1,
  TROIKA_LOSS_MEAN_SQUARED_ERROR = 2   /**< Mean over a sample's outputs of (output - value)^2; targets are values. */
};

/** How the losses of a batch's labels (or samples, if each has one) become one number. */
enum {
  TROIKA_REDUCTION_MEAN = 1,  /**< The mean over the whole batch, whatever the number of devices; over the labels
                                   that are not ignored. */
  TROIKA_REDUCTION_SUM = 2    /**< The sum over the whole batch. */
};

/**
 * Optimizers. For a parameter w with gradient g, learning rate lr and weight decay wd; t counts updates from 1. Norms are
 * 2-norms of whole parameters, also if their channels or their state are on several devices. In LARS and LAMB parameters
 * with one axis (biases, BatchNorm) have ratio 1 and no weight decay.
 */
enum {
  /** g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m). torch.optim.SGD without dampening. */
  TROIKA_OPTIMIZER_SGD = 1,
  /** g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
   *  w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps). Kingma and Ba 2015; torch.optim.Adam. */
  TROIKA_OPTIMIZER_ADAM = 2,
  /** w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019; torch.optim.AdamW. */
  TROIKA_OPTIMIZER_ADAMW = 3,
  /** g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) + eps); w -= lr m. torch.optim.RMSprop. */
  TROIKA_OPTIMIZER_RMSPROP = 4,
  /** ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0; m = momentum m + lr ratio (g + wd w); w -= m.
   *  You, Gitman and Ginsburg 2017. */
  TROIKA_OPTIMIZER_LARS = 5,
  /** m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w; w -= lr |w| / |r| r, the ratio 1 if a norm
   *  is 0. You et al. 2020. */
  TROIKA_OPTIMIZER_LAMB = 6
};

/** Numbers of a trainer and of its groups that may change while training: `troika_trainer_set_option`. */
enum {
  TROIKA_OPTION_LEARNING_RATE = 1,  /**< The base rate, which the schedule multiplies; at least 0. */
  TROIKA_OPTION_WEIGHT_DECAY = 2,   /**< At least 0. */
  TROIKA_OPTION_MOMENTUM = 3,       /**< SGD, RMSprop, LARS: in [0, 1). */
  TROIKA_OPTION_NESTEROV = 4,       /**< SGD: 0 or 1. */
  TROIKA_OPTION_BETA1 = 5,          /**< Adam, AdamW, LAMB: in [0, 1). */
  TROIKA_OPTION_BETA2 = 6,          /**< Adam, AdamW, LAMB: in [0, 1). */
  TROIKA_OPTION_EPS = 7,            /**< All but SGD: above 0. */
  TROIKA_OPTION_ALPHA = 8,          /**< RMSprop: in [0, 1). */
  TROIKA_OPTION_TRUST = 9,          /**< LARS: above 0. */
  TROIKA_OPTION_FROZEN = 10         /**< Of a group: 0 or 1. */
};

/**
 * Learning-rate schedules, by step s, counted from 0. With warm-up, step s < warmup_steps takes (s + 1) / warmup_steps of the
 * scheduled rate.
 */
enum {
  TROIKA_SCHEDULE_CONSTANT = 1,    /**< lr */
  TROIKA_SCHEDULE_STEP = 2,        /**< lr * gamma ^ floor(s / period) */
  TROIKA_SCHEDULE_COSINE = 3,      /**< lr_min + (lr - lr_min) (1 + cos(pi s / period)) / 2; lr_min from `period` on. */
  TROIKA_SCHEDULE_MULTI_STEP = 4,  /**< lr * gamma ^ (milestones that are at most s) */
  TROIKA_SCHEDULE_EXPONENTIAL = 5, /**< lr * gamma ^ (s / period) */
  TROIKA_SCHEDULE_POLYNOMIAL = 6,  /**< lr_min + (lr - lr_min) (1 - s / period) ^ power; lr_min from `period` on. */
  /** Along half a cosine from lr / divisor up to lr at step rise * period - 1, then down to lr / divisor / final_divisor at
   *  step period - 1, and there it stays. torch.optim.lr_scheduler.OneCycleLR without its change of momentum. */
  TROIKA_SCHEDULE_ONE_CYCLE = 7,
  /** lr * gamma ^ n, at least lr_min. n grows by 1 each time that more than `patience` metrics in a row were no better than
   *  the best one by `threshold` (relative). `troika_trainer_report_metric` reports them. ReduceLROnPlateau. */
  TROIKA_SCHEDULE_PLATEAU = 8,
  TROIKA_SCHEDULE_TABLE = 9        /**< lr * table[s]; after its end the last entry stays. */
};

/**
 * Precisions of computation. Parameters, their gradients, the optimizer's state, BatchNorm's statistics and losses are f32 in
 * all of them; files do not depend on it. In BF16 and F16 activations and the factors of convolutions and linear layers are
 * 16 bits wide, and sums are made in f32. On a CPU these two save no time, and often take more memory: they serve to try out
 * there what a GPU will do.
 */
enum {
  TROIKA_PRECISION_F32 = 1,  /**< IEEE single. */
  TROIKA_PRECISION_TF32 = 2, /**< f32 whose products may round their factors to 10 bits of fraction, where a GPU does so. */
  TROIKA_PRECISION_BF16 = 3, /**< bfloat16. */
  TROIKA_PRECISION_F16 = 4   /**< IEEE half; with dynamic loss scaling. */
};

/** A group of parameters with settings of its own, matched by name. The first group that matches a parameter counts. */
typedef struct troika_parameter_group {
  uint32_t struct_size;      /**< sizeof(troika_parameter_group). */
  int32_t frozen;            /**< 1: bit-unchanged, has no gradient, is not communicated. Default 0. */
  const char *pattern;       /**< `*` any run of characters, `?` one; must be set. Copied. */
  double learning_rate;      /**< Below 0 (default): the trainer's. Follows the schedule too. */
  double weight_decay;       /**< Below 0 (default): the trainer's. */
  double momentum;           /**< TROIKA_UNSET (default): the trainer's, as in what follows. */
  double beta1;              /**< Of Adam, AdamW and LAMB. */
  double beta2;              /**< Of Adam, AdamW and LAMB. */
  double eps;                /**< Of all optimizers but SGD. */
  double alpha;              /**< Of RMSprop. */
  double trust;              /**< Of LARS. */
} troika_parameter_group;

/** No pattern, not frozen, the trainer's settings. */
#define TROIKA_PARAMETER_GROUP_INIT                                                                               \
  {                                                                                                               \
    sizeof(troika_parameter_group), 0, NULL, -1.0, -1.0, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, \
        TROIKA_UNSET, TROIKA_UNSET                                                                                \
  }

/** Fills `group` as TROIKA_PARAMETER_GROUP_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_parameter_group_init(troika_parameter_group *group);

/** In which order the micro-batches of a split by layer pass through its stages (docs/splitting-by-layer.md draws them). */
enum {
  TROIKA_LAYER_SCHEDULE_GPIPE = 1,       /**< All forwards, then all backwards: the activations of every micro-batch are kept. */
  /** Alternates one forward and one backward. At most as many micro-batches as stages are in flight, so fewer activations
   *  are kept. */
  TROIKA_LAYER_SCHEDULE_1F1B = 2,
  TROIKA_LAYER_SCHEDULE_INTERLEAVED = 3  /**< The same with several stages a device: less idle time, more messages. */
};

/**
 * How devices share the work: data * layer * channel of them. In the list of devices those with channels of the same layers
 * stand behind each other, then those with the next layers, then those with other samples. 0 in `layer` and `channel` is 1.
 */
typedef struct troika_mesh {
  int32_t data;     /**< Parts of the batch (data parallelism); 0: as many as there are devices for. */
  int32_t layer;    /**< Devices in a row, each with some layers (pipeline parallelism). */
  int32_t channel;  /**< Devices that have some channels of each layer (tensor parallelism). */
} troika_mesh;

/** How gradients travel between replicas. */
enum {
  TROIKA_COMPRESSION_NONE = 1, /**< f32. */
  TROIKA_COMPRESSION_BF16 = 2  /**< Each replica's gradient is rounded to bf16, these are added in f32, and the sum is rounded. */
};

/** Options of `troika_model_attach`. Begin with TROIKA_TRAINER_OPTIONS_INIT. */
typedef struct troika_trainer_options {
  uint32_t struct_size;     /**< sizeof(troika_trainer_options). */
  int32_t loss;             /**< Default TROIKA_LOSS_CROSS_ENTROPY. */
  int32_t reduction;        /**< Default TROIKA_REDUCTION_MEAN. */
  int32_t precision;        /**< Default TROIKA_PRECISION_F32. */
  double learning_rate;     /**< At least 0; default 0.1. */
  double momentum;          /**< Of SGD, RMSprop and LARS: in [0, 1); default 0. */
  double weight_decay;      /**< At least 0; default 0. */
  int32_t nesterov;         /**< Of SGD: 1: Nesterov's momentum; needs momentum above 0. Default 0. */
  int32_t schedule;         /**< Default TROIKA_SCHEDULE_CONSTANT. */
  int64_t schedule_period;  /**< Steps; needed by STEP, COSINE, EXPONENTIAL, POLYNOMIAL and ONE_CYCLE. */
  double schedule_gamma;    /**< STEP, MULTI_STEP, EXPONENTIAL and PLATEAU: the factor; default 0.1. */
  double schedule_min;      /**< COSINE, POLYNOMIAL and PLATEAU: the least learning rate; default 0. */
  int64_t warmup_steps;     /**< Warm-up: step s < warmup_steps takes (s + 1) / warmup_steps of the rate; default 0. */
  int64_t bucket_bytes;     /**< About the size of a bucket of the all-reduce; default 1 MiB; 0: each gradient alone. */
  uint64_t seed;            /**< Dropout's seed; 0 (default): the context's. */
  const troika_parameter_group *groups; /**< `group_count` groups; copied. NULL with 0. */
  int32_t group_count;      /**< 0 (default) to 4096. */
  int32_t deadline_ms;      /**< A step that takes longer fails with COMM; 1 to 2^31 - 1 milliseconds, default 600000. */
  int32_t collect_trace;    /**< 1: record every launch and collective, for `troika_trainer_trace`. Default 0. */
  int32_t fuse;             /**< 0: no fused kernels, for comparison; default 1. */
  double loss_scale;        /**< Dynamic loss scaling, from this scale on, 1 to 2^24; 0: none, in F16 too. TROIKA_UNSET (default):
                                 as `precision` needs it, 65536 with F16 and none else. */
  int32_t loss_scale_interval; /**< Good steps behind each other after which the scale doubles; 1 to 2^24, default 2000. */
  int32_t micro_batches;    /**< Each replica's samples are cut into so many parts, computed one after the other, and their
                                 gradients added before the all-reduce: less memory. BatchNorm sees a part. 0 to 65536; 0 and 1
                                 (default): whole. Parts that get no sample are left out. */
  int32_t logical_shards;   /**< 0 (default): none. Else each batch is cut into so many shards, a power of 2 of at most 65536, on
                                 any number of devices 1, 2, 4 ... `logical_shards`: parameters get the same bits on each of
                                 these. BatchNorm normalises by shard and tracks the first; a CPU device computes on one thread.
                                 Not with `micro_batches` above 1. */
  troika_mesh mesh;         /**< Default: all devices share the batch. Splits by layer and channel exclude `logical_shards`.
                                 `troika_plan_choose` finds the fastest mesh that fits. */
  int32_t layer_schedule;   /**< With mesh.layer above 1; default TROIKA_LAYER_SCHEDULE_1F1B. */
  int32_t layer_chunks;     /**< Stages a device, 0 to 1024; default 1. 0 is 1; above 1 with mesh.layer above 1 it needs the
                                 interleaved schedule, and `mesh.layer * layer_chunks` layers at least. */
  const char *layer_cuts;   /**< With mesh.layer above 1: layers that begin a stage, but for the first, separated by commas; NULL
                                 (default): cut so that the stages cost about the same. Copied. */
  int32_t recompute_segments; /**< The forward pass in so many segments: activations within them are computed again; 0: none. */
  int32_t sync_batch_norm;  /**< 1: BatchNorm normalises the samples of all replicas together, as one device with the whole batch
                                 would (each micro-batch with those at its place on the others). Default 0: each its own.
                                 Excludes `logical_shards`. */
  const char *recompute_layers; /**< Layers whose outputs are computed again: names with `*`, `?`, by commas; NULL: none. */
  int64_t activation_budget_bytes; /**< Computes again what it takes for activations to fit on each device; 0: no budget. */
  double max_gradient_norm; /**< Above 0: the gradients, summed over devices, are multiplied by min(1, max_gradient_norm /
                                 (norm + 1e-6)), norm being the 2-norm of all of them together (PyTorch's clip_grad_norm_);
                                 the loss scale is taken out before. 0 (default): no clipping. */
  int32_t shard_optimizer;  /**< 1: each parameter's optimizer state is on one of the replicas alone, which updates it and sends it
                                 to the others (ZeRO level 1). The same bits as without. Default 0. */
  int32_t gradient_compression; /**< Default TROIKA_COMPRESSION_NONE. BF16 excludes `logical_shards`. */
  int32_t samples_on_device; /**< 1 (default): GPUs keep a dataset that takes at most half of their free memory, from the first
                                 epoch over it on, and gather batches there. If a plan of this trainer needs that memory, the
                                 dataset is evicted. 0: batches are copied from the host. The same bits. CPU devices keep
                                 none. */
  int32_t overlap_weight_gradients; /**< 1 (default): on GPUs, long gradients of weights run beside the rest of the backward
                                 pass. 0: every launch behind the one before it; a little less memory. The same bits. */
  int32_t optimizer;        /**< Default TROIKA_OPTIMIZER_SGD. */
  int32_t decay_one_axis;   /**< 0: weight decay skips parameters with one axis (biases, BatchNorm). Default 1. */
  double beta1;             /**< Of Adam, AdamW and LAMB: in [0, 1); TROIKA_UNSET (default): 0.9. */
  double beta2;             /**< Of Adam, AdamW and LAMB: in [0, 1); TROIKA_UNSET (default): 0.999. */
  double eps;               /**< Above 0; TROIKA_UNSET (default): 1e-8, LAMB 1e-6, LARS 1e-9. */
  double alpha;             /**< Of RMSprop: in [0, 1); TROIKA_UNSET (default): 0.99. */
  double trust;             /**< Of LARS: above 0; TROIKA_UNSET (default): 0.001. */
  double average_decay;     /**< Above 0, and below 1: after each update, average = average_decay * average +
                                 (1 - average_decay) * parameter, from the parameters at attach on. 0 (default): no averages. */
  int32_t evaluate_average; /**< 1 (default): with averages, evaluation and prediction use them. 0: the parameters. */
  int32_t schedule_maximize;      /**< PLATEAU: 1: larger metrics are better. Default 0. */
  double schedule_power;          /**< POLYNOMIAL: above 0; default 1. */
  double schedule_rise;           /**< ONE_CYCLE: in (0, 1); default 0.3. */
  double schedule_divisor;        /**< ONE_CYCLE: at least 1; default 25. */
  double schedule_final_divisor;  /**< ONE_CYCLE: at least 1; default 1e4. */
  double schedule_threshold;      /**< PLATEAU: in [0, 1); default 1e-4. */
  int64_t schedule_patience;      /**< PLATEAU: at least 0; default 10. */
  const int64_t *schedule_milestones; /**< MULTI_STEP: `schedule_milestone_count` steps, in order. Copied. */
  const double *schedule_table;   /**< TABLE: `schedule_table_count` factors, each at least 0. Copied. */
  int32_t schedule_milestone_count; /**< 0 (default) to 65536. */
  int32_t schedule_table_count;   /**< 0 (default) to 2^24. */
  double label_smoothing;   /**< Cross-entropy: s in [0, 1); a label's loss is 1 - s times its own, plus s times the mean
                                 over all classes (PyTorch's label_smoothing). Default 0. */
  int64_t ignore_index;     /**< Cross-entropy: a label that weighs nothing: no loss, no gradient, not counted, also in
                                 the mean (PyTorch's ignore_index). A batch that has no other label teaches nothing, and
                                 its loss is 0. TROIKA_UNSET (default): none. */
} troika_trainer_options;

/** Every field at its default. */
#define TROIKA_TRAINER_OPTIONS_INIT                                                                                   \
  {                                                                                                                   \
    sizeof(troika_trainer_options), TROIKA_LOSS_CROSS_ENTROPY, TROIKA_REDUCTION_MEAN, TROIKA_PRECISION_F32, 0.1, 0.0, \
        0.0, 0, TROIKA_SCHEDULE_CONSTANT, 0, 0.1, 0.0, 0, 1048576, 0, NULL, 0, 600000, 0, 1, TROIKA_UNSET, 2000, 1, 0,      \
        {0, 1, 1}, TROIKA_LAYER_SCHEDULE_1F1B, 1, NULL, 0, 0, NULL, 0, 0.0, 0, TROIKA_COMPRESSION_NONE, 1, 1,             \
        TROIKA_OPTIMIZER_SGD, 1, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, 0.0, 1, 0, 1.0,    \
        0.3, 25.0, 1e4, 1e-4, 10, NULL, NULL, 0, 0, 0.0, TROIKA_UNSET                                                     \
  }

/** Fills `options` as TROIKA_TRAINER_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_trainer_options_init(troika_trainer_options *options);

/**
 * Attaches a model to `n` devices, with one replica on each; the same device twice gives two replicas. Parameters with
 * no value take the model's default initialisation. All replicas start from the model's parameters and stay
 * bit-identical. A model has one trainer at a time: attaching again takes the parameters over, and the earlier
 * trainer's calls answer DETACHED.
 *
 * One step computes what a single device computes on the whole batch: samples are split evenly (sizes differ by at most
 * one; a device may get none), gradients are summed in pairs, then pairs of pairs of the list, with every sample weighing the same.
 * BatchNorm alone normalises each device's own samples, unless `sync_batch_norm` is 1; running statistics are those of the
 * first device. `options.mesh` splits the network by layer and by channel too: each device then holds its part of it, and a
 * step computes the same, but that BatchNorm sees micro-batches.
 *
 * `options` may be NULL: defaults. Owned: destroy `*out_trainer` with `troika_trainer_destroy`. Errors:
 * INVALID_ARGUMENT (names the field; a model with no output, or with nothing left to train), NOT_FOUND (a group that
 * matches no parameter), DEVICE_UNAVAILABLE (names the device), OUT_OF_MEMORY, BUSY also while the model's earlier
 * trainer is in a call. One thread a model at a time.
 */
TROIKA_API troika_status troika_model_attach(troika_model model, const troika_device *devices, int32_t n,
                                             const troika_trainer_options *options, troika_trainer *out_trainer,
                                             troika_error *error);

/**
 * Gives up the caller's hold on a trainer; its parameters stay with the model. NULL is ignored. Never fails. Any
 * thread, but not while another is inside a call with the same handle.
 */
TROIKA_API void troika_trainer_destroy(troika_trainer trainer);

/** What a step did. Filled by `troika_trainer_step`. */
typedef struct troika_step_result {
  uint32_t struct_size;   /**< Set by the caller to sizeof(troika_step_result), or 0 for the same. */
  int32_t reserved;       /**< 0. */
  double loss;            /**< Over the whole batch, before the update: mean or sum, as `reduction`. */
  int64_t samples;        /**< Samples in the batch. */
  int64_t correct;        /**< Labels, of `labels`, whose largest output is their own; 0 for other losses. */
  int64_t step;           /**< Steps done, this one included. */
  double learning_rate;   /**< The rate that this step used (the trainer's, without groups). */
  double seconds;         /**< Wall-clock time of the step. */
  double loss_scale;      /**< The loss scale that this step used; 1 without loss scaling. */
  double gradient_norm;   /**< The 2-norm of all gradients before clipping, not finite where one of them is not; 0 without
                               `max_gradient_norm`. */
  int64_t labels;         /**< Labels that are not ignored, over which the mean is; `samples` for other losses. */
} troika_step_result;

/** All zero but `struct_size`. */
#define TROIKA_STEP_RESULT_INIT \
  { sizeof(troika_step_result), 0, 0.0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0 }

/**
 * Trains on one batch: forward, loss, backward, all-reduce of gradients, update. `out_result` may be NULL; on a GPU the call
 * then returns while the step still runs, and an error of it comes with a later call. STEP_SKIPPED where loss scaling met a
 * gradient that is not finite on any device: parameters and optimizer state are as they were and the loss scale is lower.
 * The step counts all the same, for `step`, schedule and warm-up, and BatchNorm's running statistics have moved with it.
 * A batch of a new size compiles a plan first, which takes longer once. STOPPED, and nothing is done, after
 * `troika_trainer_request_stop`.
 *
 * Errors: INVALID_ARGUMENT (type or shapes, kind or number of targets, a label or token outside its range, a share that BatchNorm cannot
 * normalise: nothing is changed), OUT_OF_MEMORY (the trainer stays usable with a smaller batch), UNSUPPORTED (an op
 * that a device has no kernel for), BUSY, COMM, DETACHED. One thread a trainer at a time; reads the batch.
 */
TROIKA_API troika_status troika_trainer_step(troika_trainer trainer, troika_batch batch,
                                             troika_step_result *out_result, troika_error *error);

/** What a progress callback is told after each batch. */
typedef struct troika_progress {
  int64_t batch;     /**< Batches of this epoch that are done. */
  int64_t batches;   /**< Batches in the epoch. */
  int64_t epoch;     /**< Epoch of the loader, from 0. */
  int64_t samples;   /**< Samples done in this call. */
  int64_t correct;   /**< Of their labels, those classified correctly. */
  double loss;       /**< Mean over the labels of this call. */
  double seconds;    /**< Since the call began. */
  int32_t training;  /**< 1 while training, 0 while evaluating. */
  int32_t skipped;   /**< 1: loss scaling skipped this batch's step (STEP_SKIPPED). */
  double batch_loss;     /**< Mean over this batch. */
  int64_t batch_samples; /**< Samples of this batch. */
  int64_t batch_correct; /**< Of their labels, those classified correctly. */
  double learning_rate;  /**< The rate that this batch's step used (the trainer's); 0 while evaluating. */
  int64_t labels;        /**< Labels done in this call that are not ignored; samples for other losses. */
  int64_t batch_labels;  /**< Of them, those of this batch. */
} troika_progress;

/**
 * A progress callback, called after each batch of `troika_trainer_train_epoch` and of evaluations, on the thread that
 * called them; non-zero stops the call. GPUs train on the next batch meanwhile, which then still ends and counts. Borrowed
 * until the callback returns: `progress`. It must not call this trainer, `troika_trainer_request_stop` excepted.
 */
typedef int32_t (*troika_progress_function)(const troika_progress *progress, void *user);

/** Sets the callback; NULL takes it away. `user` must outlive it. Errors: BUSY. One thread a trainer at a time. */
TROIKA_API troika_status troika_trainer_set_progress(troika_trainer trainer, troika_progress_function function,
                                                     void *user, troika_error *error);

/** Sums over many batches. Filled by `troika_trainer_train_epoch` and `troika_trainer_evaluate`. */
typedef struct troika_metrics {
  uint32_t struct_size;  /**< Set by the caller to sizeof(troika_metrics), or 0 for the same. */
  int32_t reserved;      /**< 0. */
  double loss;           /**< Mean over all labels. */
  double accuracy;       /**< correct / labels. */
  int64_t samples;       /**< Samples seen. */
  int64_t correct;       /**< Labels whose largest output is their own. */
  double seconds;        /**< Wall-clock time. */
  int64_t labels;        /**< Labels seen that are not ignored; `samples` for other losses. */
} troika_metrics;

/** All zero but `struct_size`. */
#define TROIKA_METRICS_INIT \
  { sizeof(troika_metrics), 0, 0.0, 0.0, 0, 0, 0.0, 0 }

/**
 * Trains on what is left of the loader's epoch, step by step, and leaves the loader at the start of the next one.
 * STOPPED, and a batch that is refused, leave it behind the last batch that was trained on; after COMM and other errors of
 * a step the place to go on from is a checkpoint's. `out_metrics` may be NULL; it is filled for STOPPED too.
 *
 * Errors: those of `troika_trainer_step`; INVALID_ARGUMENT also where the loader's dataset makes no batch at all; BUSY
 * also where the loader is in use. One thread a trainer, and a loader, at a time.
 */
TROIKA_API troika_status troika_trainer_train_epoch(troika_trainer trainer, troika_loader loader,
                                                    troika_metrics *out_metrics, troika_error *error);

/**
 * As `troika_trainer_train_epoch`, on at most `batches` batches of what is left of the epoch: no further step has begun when
 * the call returns, so that a checkpoint is of exactly this step. END_OF_DATA if the epoch has ended; the loader is then at
 * the start of the next one.
 *
 * Errors: those of `troika_trainer_train_epoch`; INVALID_ARGUMENT also if `batches` is below 1. One thread per trainer, and
 * per loader, at a time.
 */
TROIKA_API troika_status troika_trainer_train_batches(troika_trainer trainer, troika_loader loader, int64_t batches,
                                                      troika_metrics *out_metrics, troika_error *error);

/**
 * Evaluates an epoch of the loader, from its first batch, on every attached device: sums of counts, exact for any size.
 * Running statistics are used, nothing is changed; the loader stands at the start of the next epoch then. STOPPED after
 * `troika_trainer_request_stop`. `out_metrics` may be NULL.
 *
 * Errors: those of `troika_trainer_step`; INVALID_ARGUMENT also where the loader's dataset makes no batch at all; BUSY
 * also where the loader is in use. One thread a trainer, and a loader, at a time.
 */
TROIKA_API troika_status troika_trainer_evaluate(troika_trainer trainer, troika_loader loader,
                                                 troika_metrics *out_metrics, troika_error *error);

/**
 * As `troika_trainer_evaluate`, on one attached device alone, with no communication.
 *
 * Errors: those of `troika_trainer_evaluate`; NOT_ON_DEVICE where the model is not attached to `device`. One thread a
 * trainer, and a loader, at a time.
 */
TROIKA_API troika_status troika_trainer_evaluate_on(troika_trainer trainer, troika_device device, troika_loader loader,
                                                    troika_metrics *out_metrics, troika_error *error);

/**
 * Runs the network in evaluation mode over all attached devices: `input` [batch, ...], of the type of the model's
 * input, to a new tensor f32 [batch, outputs] on the first device, samples in order.
 *
 * Owned: destroy `*out_output`. Errors: INVALID_ARGUMENT (shape or dtype), OUT_OF_MEMORY, UNSUPPORTED (an op that a
 * device has no kernel for), BUSY, COMM, DETACHED. One thread a trainer at a time; reads `input`.
 */
TROIKA_API troika_status troika_trainer_predict(troika_trainer trainer, troika_tensor input, troika_tensor *out_output,
                                                troika_error *error);

/**
 * Asks the call in progress, or the next one, to return STOPPED between two batches. Errors: none but INVALID_ARGUMENT
 * for what is no trainer. Any thread, at any time.
 */
TROIKA_API troika_status troika_trainer_request_stop(troika_trainer trainer, troika_error *error);

/**
 * Sets the base learning rate from the next step on; the schedule goes on from it. `group` is an index into the
 * options' groups, or -1 for the trainer's own. A group gets a rate of its own.
 *
 * Errors: INVALID_ARGUMENT (below 0, not finite, no such group), BUSY, COMM, DETACHED. One thread per trainer at a time.
 */
TROIKA_API troika_status troika_trainer_set_learning_rate(troika_trainer trainer, int32_t group, double learning_rate,
                                                          troika_error *error);

/**
 * Gives the learning rate that the next step will use, schedule and warm-up applied; `group` as in
 * `troika_trainer_set_learning_rate`.
 *
 * Errors: INVALID_ARGUMENT (no such group), BUSY. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_get_learning_rate(troika_trainer trainer, int32_t group,
                                                          double *out_learning_rate, troika_error *error);

/**
 * Sets an option (TROIKA_OPTION_*) from the next step on. `group` is an index into the options' groups, or -1 for the
 * trainer; a group without a value of its own has the trainer's. Nothing is attached or compiled again, with one exception:
 * TROIKA_OPTION_FROZEN makes new plans. Parameters that freeze lose what the optimizer keeps of them; all others keep it,
 * and parameters that thaw begin with none. A training state keeps the values; it loads into a trainer with the same groups
 * frozen.
 *
 * Errors: INVALID_ARGUMENT (no such group, an option that the optimizer does not have, a value out of its range, momentum
 * above 0 of a trainer that was attached without, nothing left to train), OUT_OF_MEMORY, BUSY, COMM, DETACHED; on an error
 * nothing has changed. One thread per trainer at a time.
 */
TROIKA_API troika_status troika_trainer_set_option(troika_trainer trainer, int32_t group, int32_t option, double value,
                                                   troika_error *error);

/**
 * Returns the value of an option (TROIKA_OPTION_*) in `*out_value`; of a learning rate the base rate, before the schedule.
 * `group` as in `troika_trainer_set_option`.
 *
 * Errors: INVALID_ARGUMENT (no such group, an option that the optimizer does not have), BUSY. One thread per trainer at a
 * time.
 */
TROIKA_API troika_status troika_trainer_get_option(troika_trainer trainer, int32_t group, int32_t option,
                                                   double *out_value, troika_error *error);

/**
 * Reports a metric of the caller's to a trainer whose schedule is TROIKA_SCHEDULE_PLATEAU: one call per evaluation, as a
 * rule. The learning rate may fall from the next step on.
 *
 * Errors: INVALID_ARGUMENT (another schedule, a metric that is NaN), BUSY, COMM, DETACHED. One thread per trainer at a time.
 */
TROIKA_API troika_status troika_trainer_report_metric(troika_trainer trainer, double metric, troika_error *error);

/**
 * Copies the parameter or buffer that the replica on `device` (the first of that device) holds, row-major, to `data` in
 * host memory of `size_bytes`.
 *
 * Errors: NOT_FOUND (no such name), NOT_ON_DEVICE (names parameter, device and the devices attached), INVALID_ARGUMENT
 * where the size differs, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_get_parameter(troika_trainer trainer, const char *name, troika_device device,
                                                      void *data, int64_t size_bytes, troika_error *error);

/**
 * Copies the gradient of the last step, reduced over all devices and before clipping, f32 row-major in the parameter's shape,
 * to `data` in host memory of `size_bytes`.
 *
 * Errors: NOT_FOUND (no such name), NOT_INITIALIZED (no step yet, a frozen parameter, a buffer), INVALID_ARGUMENT where
 * the size differs, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_get_gradient(troika_trainer trainer, const char *name, float *data,
                                                     int64_t size_bytes, troika_error *error);

/**
 * Compares parameters and optimizer state of all replicas bit by bit. OK: they are identical (BatchNorm's running
 * statistics, which belong to the first device, apart).
 *
 * Errors: MISMATCH (names parameter and devices), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_check_replicas(troika_trainer trainer, troika_error *error);

/**
 * Writes a training state that resumes bit for bit on the same mesh, and correctly on any other (bit for bit there too with
 * `logical_shards`): parameters, buffers, optimizer state, schedule, step, seeds, and the place in the epoch after the last
 * batch. One safetensors file, written atomically; its bytes do not depend on the mesh.
 *
 * Errors: IO, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_save(troika_trainer trainer, const char *path, troika_error *error);

/**
 * Writes the moving averages as a weights file, which `troika_model_load` reads: the averages of the parameters that are
 * trained, other parameters and buffers as they are. Written atomically.
 *
 * Errors: INVALID_ARGUMENT (attached without `average_decay`), IO, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per
 * trainer at a time.
 */
TROIKA_API troika_status troika_trainer_save_average(troika_trainer trainer, const char *path, troika_error *error);

/**
 * Reads a training state. Strict: the model, optimizer and every name and shape must agree; a refused file changes
 * nothing. `out_position`, where given, receives the place in the epoch for `troika_loader_seek`. A loader that is
 * moved there must have the `shuffle` and `seed` of the run that was saved: a step refuses the batch that it gives next
 * with INVALID_ARGUMENT where samples come in another order. With NULL the caller looks after their order.
 *
 * Errors: NOT_FOUND (no such file), IO, CORRUPT (its format, or the sum of its data), MISMATCH (the message names the
 * first difference), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_load(troika_trainer trainer, const char *path,
                                             troika_loader_position *out_position, troika_error *error);

/**
 * Gives the single-device model, sharing the trained parameters: a further hold on the model that was attached, usable
 * on any device, to save, print, predict, or attach again. The trainer stays usable.
 *
 * Owned: destroy `*out_model` with `troika_model_destroy`. Errors: OUT_OF_MEMORY, BUSY, DETACHED. One thread a trainer
 * at a time.
 */
TROIKA_API troika_status troika_trainer_unwrap(troika_trainer trainer, troika_model *out_model, troika_error *error);

/** Memory of one replica in bytes. Filled by `troika_trainer_memory`. */
typedef struct troika_memory_info {
  uint32_t struct_size;    /**< Set by the caller to sizeof(troika_memory_info). */
  int32_t plans;           /**< Compiled plans: one for each batch size and mode. */
  int64_t arena_bytes;     /**< Activations, their gradients and scratch: one arena, shared by all plans. */
  int64_t parameter_bytes; /**< Parameters and buffers. */
  int64_t gradient_bytes;  /**< Gradients of parameters. */
  int64_t optimizer_bytes; /**< Optimizer state. */
  int64_t sample_bytes;    /**< Datasets that the device keeps (`samples_on_device`). */
} troika_memory_info;

/**
 * Gives the memory of replica `replica` (0 .. n-1). Errors: NOT_FOUND (no such replica), BUSY. One thread a trainer at
 * a time.
 */
TROIKA_API troika_status troika_trainer_memory(troika_trainer trainer, int32_t replica,
                                               troika_memory_info *out_info, troika_error *error);

/**
 * Writes the plan for a training batch of `batch` samples as text: every launch of each replica, its kernel, layouts
 * and place in the arena. Compiles the plan where it does not exist yet. Buffer rules as `troika_model_print`.
 *
 * Errors: INVALID_ARGUMENT (a batch below 1 or one that no step would take, a capacity below 0), OUT_OF_MEMORY,
 * UNSUPPORTED (an op that a device has no kernel for), BUSY, COMM, DETACHED. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_explain(troika_trainer trainer, int64_t batch, char *buffer, int64_t capacity,
                                                int64_t *out_size, troika_error *error);

/**
 * Writes the trace of the last step, one line an event: "replica begin_us end_us name", in microseconds from the first
 * one's begin. Needs `collect_trace`; buffer rules as `troika_model_print`.
 *
 * Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (a capacity below 0), BUSY. One thread a trainer at a time.
 */
TROIKA_API troika_status troika_trainer_trace(troika_trainer trainer, char *buffer, int64_t capacity,
                                              int64_t *out_size, troika_error *error);

TROIKA_END_DECLS

#endif
