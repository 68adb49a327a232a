/* Trainers: a model attached to devices, with its loss, optimizer and schedule. */
#ifndef TROIKA_TRAINER_H
#define TROIKA_TRAINER_H

#include <troika/data.h>
#include <troika/model.h>

TROIKA_BEGIN_DECLS

/** A model attached to a list of devices: a replica on each, fed by data parallelism. Counted; one thread at a time. */
typedef struct troika_trainer_s *troika_trainer;

/** Losses. */
enum {
  TROIKA_LOSS_CROSS_ENTROPY = 1,       /**< -log softmax(output)[label]; targets are labels. */
  TROIKA_LOSS_MEAN_SQUARED_ERROR = 2   /**< Mean over a sample's outputs of (output - value)^2; targets are values. */
};

/** How the losses of a batch's samples become one number. */
enum {
  TROIKA_REDUCTION_MEAN = 1,  /**< The mean over the whole batch, whatever the number of devices. */
  TROIKA_REDUCTION_SUM = 2    /**< The sum over the whole batch. */
};

/** Learning-rate schedules, by step s, counted from 0. */
enum {
  TROIKA_SCHEDULE_CONSTANT = 1,  /**< lr */
  TROIKA_SCHEDULE_STEP = 2,      /**< lr * gamma ^ floor(s / period) */
  TROIKA_SCHEDULE_COSINE = 3     /**< lr_min + (lr - lr_min) (1 + cos(pi s / period)) / 2, lr_min after `period` steps. */
};

/** Precisions of computation. */
enum { TROIKA_PRECISION_F32 = 1 };

/** A group of parameters with settings of its own, matched by name. The first group that matches a parameter counts. */
typedef struct troika_parameter_group {
  uint32_t struct_size;      /**< sizeof(troika_parameter_group). */
  int32_t frozen;            /**< 1: bit-unchanged, has no gradient, is not communicated. Default 0. */
  const char *pattern;       /**< `*` any run of characters, `?` one; must be set. Copied. */
  double learning_rate;      /**< Below 0 (default): the trainer's. Follows the schedule too. */
  double weight_decay;       /**< Below 0 (default): the trainer's. */
} troika_parameter_group;

#define TROIKA_PARAMETER_GROUP_INIT \
  { sizeof(troika_parameter_group), 0, NULL, -1.0, -1.0 }

/** Fills `group` as TROIKA_PARAMETER_GROUP_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_parameter_group_init(troika_parameter_group *group);

/** Options of `troika_model_attach`. Begin with TROIKA_TRAINER_OPTIONS_INIT. */
typedef struct troika_trainer_options {
  uint32_t struct_size;     /**< sizeof(troika_trainer_options). */
  int32_t loss;             /**< Default TROIKA_LOSS_CROSS_ENTROPY. */
  int32_t reduction;        /**< Default TROIKA_REDUCTION_MEAN. */
  int32_t precision;        /**< Default TROIKA_PRECISION_F32. */
  double learning_rate;     /**< SGD's step size; default 0.1. At least 0. */
  double momentum;          /**< In [0, 1); default 0. */
  double weight_decay;      /**< Added to the gradient times the parameter (PyTorch's L2 form); default 0. */
  int32_t nesterov;         /**< 1: Nesterov's momentum; needs momentum above 0. Default 0. */
  int32_t schedule;         /**< Default TROIKA_SCHEDULE_CONSTANT. */
  int64_t schedule_period;  /**< Steps; needed by STEP and COSINE. */
  double schedule_gamma;    /**< STEP: factor a period; default 0.1. */
  double schedule_min;      /**< COSINE: the last learning rate; default 0. */
  int64_t warmup_steps;     /**< Linear warm-up: step s < warmup_steps takes (s + 1) / warmup_steps of the rate. Default 0. */
  int64_t bucket_bytes;     /**< Gradients are all-reduced in buckets of about this size; default 1 MiB; 0: each alone. */
  uint64_t seed;            /**< Dropout's seed; 0 (default): the context's. */
  const troika_parameter_group *groups; /**< `group_count` groups; copied. NULL with 0. */
  int32_t group_count;      /**< Default 0. */
  int32_t deadline_ms;      /**< A step that takes longer fails with COMM; default 600000. */
  int32_t collect_trace;    /**< 1: record when each launch and collective began, for `troika_trainer_trace`. Default 0. */
  int32_t fuse;             /**< 0: no fused kernels, for comparison; default 1. */
} troika_trainer_options;

#define TROIKA_TRAINER_OPTIONS_INIT                                                                                   \
  {                                                                                                                   \
    sizeof(troika_trainer_options), TROIKA_LOSS_CROSS_ENTROPY, TROIKA_REDUCTION_MEAN, TROIKA_PRECISION_F32, 0.1, 0.0, \
        0.0, 0, TROIKA_SCHEDULE_CONSTANT, 0, 0.1, 0.0, 0, 1048576, 0, NULL, 0, 600000, 0, 1                           \
  }

/** Fills `options` as TROIKA_TRAINER_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_trainer_options_init(troika_trainer_options *options);

/**
 * Attaches a model to `n` devices, with one replica on each; the same device twice gives two replicas. Parameters with no
 * value take the model's default initialisation. All replicas start from the model's parameters and stay bit-identical.
 * A model has one trainer at a time: attaching again takes the parameters over, and the earlier trainer's calls answer
 * DETACHED.
 *
 * One step computes what a single device computes on the whole batch: samples are split evenly (sizes differ by at most
 * one; a device may get none), gradients are summed in the order of the list with every sample weighing the same.
 * BatchNorm alone normalises each device's own samples; running statistics are those of the first device.
 *
 * Owned: destroy with `troika_trainer_destroy`. `options` may be NULL. Errors: INVALID_ARGUMENT (names the field or the
 * device), DEVICE_UNAVAILABLE, BUSY (the model's trainer is in a step), OUT_OF_MEMORY. One thread a model at a time.
 */
TROIKA_API troika_status troika_model_attach(troika_model model, const troika_device *devices, int32_t n,
                                             const troika_trainer_options *options, troika_trainer *out_trainer,
                                             troika_error *error);

/** Gives up the caller's hold on a trainer; its parameters stay with the model. NULL is ignored. */
TROIKA_API void troika_trainer_destroy(troika_trainer trainer);

/** What a step did. Filled by `troika_trainer_step`. */
typedef struct troika_step_result {
  uint32_t struct_size;   /**< Set by the caller to sizeof(troika_step_result), or 0 for the same. */
  int32_t reserved;       /**< 0. */
  double loss;            /**< Over the whole batch, before the update: mean or sum, as `reduction`. */
  int64_t samples;        /**< Samples in the batch. */
  int64_t correct;        /**< Samples whose largest output is their label; 0 for other losses. */
  int64_t step;           /**< Steps done, this one included. */
  double learning_rate;   /**< The rate that this step used (the trainer's, without groups). */
  double seconds;         /**< Wall-clock time of the step. */
} troika_step_result;

#define TROIKA_STEP_RESULT_INIT \
  { sizeof(troika_step_result), 0, 0.0, 0, 0, 0, 0.0, 0.0 }

/**
 * Trains on one batch: forward, loss, backward, all-reduce of gradients, update. `out_result` may be NULL.
 * A batch of a new size compiles a plan first, which takes longer once.
 *
 * Errors: INVALID_ARGUMENT (shapes, a label outside the classes: nothing is changed), OUT_OF_MEMORY (the trainer stays
 * usable with a smaller batch), BUSY, COMM, DETACHED. STOPPED after `troika_trainer_request_stop`.
 */
TROIKA_API troika_status troika_trainer_step(troika_trainer trainer, troika_batch batch,
                                             troika_step_result *out_result, troika_error *error);

/** Called after each batch of `troika_trainer_train_epoch` and `troika_trainer_evaluate`; non-zero stops the call. */
typedef struct troika_progress {
  int64_t batch;     /**< Batches of this epoch that are done. */
  int64_t batches;   /**< Batches in the epoch. */
  int64_t epoch;     /**< Epoch of the loader, from 0. */
  int64_t samples;   /**< Samples done in this call. */
  int64_t correct;   /**< Of them, classified correctly. */
  double loss;       /**< Mean over the samples done in this call. */
  double seconds;    /**< Since the call began. */
  int32_t training;  /**< 1 in `troika_trainer_train_epoch`, 0 in `troika_trainer_evaluate`. */
  int32_t reserved;  /**< 0. */
} troika_progress;

/** A progress callback, on the calling thread. It must not call this trainer, `troika_trainer_request_stop` excepted. */
typedef int32_t (*troika_progress_function)(const troika_progress *progress, void *user);

/** Sets the callback; NULL takes it away. `user` must outlive it. Errors: INVALID_ARGUMENT, BUSY. */
TROIKA_API troika_status troika_trainer_set_progress(troika_trainer trainer, troika_progress_function function,
                                                     void *user, troika_error *error);

/** Sums over many batches. Filled by `troika_trainer_train_epoch` and `troika_trainer_evaluate`. */
typedef struct troika_metrics {
  uint32_t struct_size;  /**< Set by the caller to sizeof(troika_metrics), or 0 for the same. */
  int32_t reserved;      /**< 0. */
  double loss;           /**< Mean over all samples. */
  double accuracy;       /**< correct / samples. */
  int64_t samples;       /**< Samples seen. */
  int64_t correct;       /**< Samples whose largest output is their label. */
  double seconds;        /**< Wall-clock time. */
} troika_metrics;

#define TROIKA_METRICS_INIT \
  { sizeof(troika_metrics), 0, 0.0, 0.0, 0, 0, 0.0 }

/**
 * Trains on what is left of the loader's epoch, step by step, and leaves the loader at the start of the next one.
 * Errors as `troika_trainer_step`; STOPPED leaves the loader behind the last batch that was trained on.
 */
TROIKA_API troika_status troika_trainer_train_epoch(troika_trainer trainer, troika_loader loader,
                                                    troika_metrics *out_metrics, troika_error *error);

/**
 * Evaluates an epoch of the loader, from its first batch, on every attached device: sums of counts, exact for any size.
 * Running statistics are used, nothing is changed. Errors as `troika_trainer_step`.
 */
TROIKA_API troika_status troika_trainer_evaluate(troika_trainer trainer, troika_loader loader,
                                                 troika_metrics *out_metrics, troika_error *error);

/**
 * As `troika_trainer_evaluate`, on one attached device alone, with no communication.
 * Errors: NOT_ON_DEVICE where the model is not attached to `device`.
 */
TROIKA_API troika_status troika_trainer_evaluate_on(troika_trainer trainer, troika_device device, troika_loader loader,
                                                    troika_metrics *out_metrics, troika_error *error);

/**
 * Runs the network in evaluation mode over all attached devices: `input` f32 [batch, ...] to a new tensor
 * [batch, outputs] on the first device, samples in order. Owned: destroy `*out_output`. Errors as `troika_trainer_step`.
 */
TROIKA_API troika_status troika_trainer_predict(troika_trainer trainer, troika_tensor input, troika_tensor *out_output,
                                                troika_error *error);

/** Asks the call in progress, or the next one, to return STOPPED between two batches. Safe from any thread. */
TROIKA_API troika_status troika_trainer_request_stop(troika_trainer trainer, troika_error *error);

/**
 * Sets the base learning rate from the next step on; the schedule goes on from it. `group` is an index into the options'
 * groups, or -1 for the trainer's own. Errors: INVALID_ARGUMENT (below 0, not finite, no such group), BUSY.
 */
TROIKA_API troika_status troika_trainer_set_learning_rate(troika_trainer trainer, int32_t group, double learning_rate,
                                                          troika_error *error);

/** Gives the learning rate that the next step will use, schedule and warm-up applied. Errors as above. */
TROIKA_API troika_status troika_trainer_get_learning_rate(troika_trainer trainer, int32_t group,
                                                          double *out_learning_rate, troika_error *error);

/**
 * Copies the parameter or buffer that the replica on `device` (the first of that device) holds, row-major, to host memory.
 * Errors: NOT_FOUND, NOT_ON_DEVICE (names parameter, device and the devices attached), INVALID_ARGUMENT (size), BUSY.
 */
TROIKA_API troika_status troika_trainer_get_parameter(troika_trainer trainer, const char *name, troika_device device,
                                                      void *data, int64_t size_bytes, troika_error *error);

/**
 * Copies the gradient of the last step, reduced over all devices, f32 row-major in the parameter's shape.
 * Errors: NOT_FOUND, NOT_INITIALIZED (no step yet, or the parameter is frozen), INVALID_ARGUMENT (size), BUSY.
 */
TROIKA_API troika_status troika_trainer_get_gradient(troika_trainer trainer, const char *name, float *data,
                                                     int64_t size_bytes, troika_error *error);

/**
 * Compares parameters and optimizer state of all replicas bit by bit. OK: they are identical (BatchNorm's running
 * statistics, which belong to the first device, apart). Errors: MISMATCH (names parameter and devices), BUSY.
 */
TROIKA_API troika_status troika_trainer_check_replicas(troika_trainer trainer, troika_error *error);

/**
 * Writes a training state that resumes bit for bit on the same number of devices, and correctly on another: parameters,
 * buffers, optimizer state, schedule, step, seeds, and the place in the epoch after the last batch. One safetensors file,
 * written atomically. Errors: IO, BUSY, DETACHED.
 */
TROIKA_API troika_status troika_trainer_save(troika_trainer trainer, const char *path, troika_error *error);

/**
 * Reads a training state. Strict: the model, optimizer and every name and shape must agree; a refused file changes nothing.
 * `out_position`, where given, receives the place in the epoch for `troika_loader_seek`.
 * Errors: NOT_FOUND, IO, CORRUPT, MISMATCH (the message names the first difference), BUSY, DETACHED.
 */
TROIKA_API troika_status troika_trainer_load(troika_trainer trainer, const char *path,
                                             troika_loader_position *out_position, troika_error *error);

/**
 * Gives the single-device model, sharing the trained parameters: a further hold on the model that was attached, usable
 * on any device, to save, print, predict, or attach again. The trainer stays usable.
 * Owned: destroy `*out_model` with `troika_model_destroy`. Errors: INVALID_ARGUMENT, DETACHED.
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
} troika_memory_info;

/** Gives the memory of replica `replica` (0 .. n-1). Errors: NOT_FOUND, BUSY. */
TROIKA_API troika_status troika_trainer_memory(troika_trainer trainer, int32_t replica,
                                               troika_memory_info *out_info, troika_error *error);

/**
 * Writes the plan for a training batch of `batch` samples as text: every launch of each replica, its kernel, layouts and
 * place in the arena. Compiles the plan where it does not exist yet. Buffer rules as `troika_model_print`.
 */
TROIKA_API troika_status troika_trainer_explain(troika_trainer trainer, int64_t batch, char *buffer, int64_t capacity,
                                                int64_t *out_size, troika_error *error);

/**
 * Writes the trace of the last step, one line an event: "replica begin_us end_us name". Needs `collect_trace`; then the
 * buffer rules are those of `troika_model_print`. Errors: NOT_INITIALIZED without a trace, BUSY.
 */
TROIKA_API troika_status troika_trainer_trace(troika_trainer trainer, char *buffer, int64_t capacity,
                                              int64_t *out_size, troika_error *error);

TROIKA_END_DECLS

#endif
