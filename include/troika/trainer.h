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
#include <troika/model.h>
#include <troika/trainer_options.h>

TROIKA_BEGIN_DECLS

/** A model attached to a list of devices, which share its batches, layers and channels. Counted. */
typedef struct troika_trainer_s *troika_trainer;

/**
 * Attaches a model to `device_count` devices, 1 to 1024, with one replica on each; the same device
 * twice gets two replicas. Parameters without a value take the model's default initialisation. All
 * replicas start from the model's parameters and stay bit-identical. A model has one trainer at a
 * time: attaching again takes the parameters over, and calls on the earlier trainer return
 * DETACHED.
 *
 * A step computes what a single device computes on the whole batch. Without `shares`, samples are
 * split evenly: sizes differ by at most one, and a device may get none. Without weights, every
 * sample counts the same. Gradients are summed in pairs of the list of devices, then in pairs of
 * pairs. Without `logical_shards`, GPUs that are each named once are connected by NCCL, which adds
 * in its own order.
 *
 * CPUs and GPUs may be in one list. Their data meet in host memory, and each update is made by one
 * device for all, as with `shard_optimizer`. A split by channel needs devices of one kind for the
 * channels of a layer.
 *
 * The exception is BatchNorm: with `sync_batch_norm` 0, each device normalises its own samples. The
 * running statistics are those of the first device; with `shares`, of the first with the largest
 * part.
 *
 * `options.mesh` also splits the network by layer and by channel. Each device then holds its part
 * of the network. A step computes the same, except that BatchNorm normalises each micro-batch by
 * itself.
 *
 * `options` may be NULL: defaults. Owned: destroy `*out_trainer` with `troika_trainer_destroy`.
 *
 * Errors:
 * - INVALID_ARGUMENT: a field, which the message names.
 * - INVALID_ARGUMENT: a mesh that does not fit the number of devices or the model.
 * - INVALID_ARGUMENT: a model with no output, or with nothing left to train; a parameter that does
 *   not reach the loss.
 * - NOT_FOUND: a group, or a pattern of `recompute_layers`, that matches nothing; a layer of
 *   `layer_cuts` that the model does not have.
 * - UNSUPPORTED: `logical_shards` with a split by layer or channel; a parameter shared by layers
 *   that a split by channel cuts differently; channels of a layer on a CPU and a GPU, or
 *   `late_updates` on both.
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
  double loss;           /**< Mean over the labels of this call, by weight. */
  double seconds;        /**< Since the call began. */
  int32_t training;      /**< 1 while training, 0 while evaluating or predicting. */
  /** 1: this batch's step was skipped (STEP_SKIPPED). If the loss of the batch is then not finite,
   *  the sums over this call leave the batch out. */
  int32_t skipped;
  double batch_loss;     /**< Mean over the labels of this batch, by weight. */
  int64_t batch_samples; /**< Samples of this batch. */
  int64_t batch_correct; /**< Those of `batch_labels` that were classified correctly. */
  double learning_rate;  /**< The trainer's rate that this step used; 0 while evaluating. */
  /** Labels done in this call that are not ignored; samples for other losses. */
  int64_t labels;
  int64_t batch_labels;  /**< Those of `labels` that belong to this batch. */
  /** Seconds of this step in which the devices of this process waited for others: those of the
   *  device that waited least. Without a group the others are the trainer's own. The process that
   *  waits least is the one that the others wait for. 0 with devices that run ahead of the host
   *  (GPUs), and while evaluating. */
  double wait_seconds;
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
  double loss;          /**< Mean over all labels, by weight. */
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
 * Lets the loader read only those samples of each batch that this process's devices need, for
 * `troika_trainer_step` and other calls that take a batch. Calls that take the loader do so
 * themselves. Without a group the loader reads whole batches.
 *
 * Errors: BUSY (the trainer or the loader is in use), OUT_OF_MEMORY. One thread per trainer, and
 * per loader, at a time.
 */
TROIKA_API(troika_status) troika_trainer_divide_loader(troika_trainer trainer, troika_loader loader,
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
 * In a group all processes call it, each with one of its devices and a loader of its own, because
 * BatchNorm's running statistics may have to travel first.
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
 * identical. BatchNorm's running statistics are not compared: they belong to the first device. In a
 * group, parameters of different processes are compared by checksums.
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
 * that is moved there must have the `shuffle`, `seed`, `weights`, `flip` and `crop` of the run that
 * was saved. If its next batch has other samples, a step refuses that batch with INVALID_ARGUMENT.
 * A loader that is not moved is not compared: its batches are at another place. With NULL the
 * caller is responsible for the order.
 *
 * In a group of processes the call is collective, and the path names the same file in all. Each
 * process reads the parameters, the optimizer state of its own devices, and a part of the data for
 * the checksum. An error of one process is returned in all, and nothing changes.
 *
 * Errors: NOT_FOUND (no such file), IO, CORRUPT (its format, or the checksum of its data),
 * OUT_OF_MEMORY, BUSY, COMM, DETACHED. MISMATCH: the message names the first difference, or the
 * rank with another file. One thread per trainer at a time.
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
  int64_t parameter_bytes; /**< Parameters, buffers, and copies of parameters in 16 bits. */
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
 * with its kernel, layouts and place in the arena. After the launches, a line per recording says
 * how a GPU repeats them faster. Compiles the plan if it does not exist yet. The rules for the
 * buffer are those of `troika_model_print`. Returns STOPPED, with nothing written, if a stop is
 * requested while the plan is compiled.
 *
 * In a group the processes agree on the layouts of parameters with the first batch: before that,
 * NOT_INITIALIZED.
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
 * microseconds and their tenths since the begin of the first event. Needs `collect_trace`. The
 * rules for the buffer are those of `troika_model_print`.
 *
 * Times on a GPU are its own, taken by events around each launch; a replica's launches run one
 * after another. A wait for other ranks is the time in which the launches wait for them. Times of
 * different replicas may be shifted by as long as the host needs to notice the end of a step.
 *
 * Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (a capacity below 0), BUSY. One thread
 * per trainer at a time.
 */
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_trainer_trace(troika_trainer trainer, char *buffer,
                                               int64_t capacity, int64_t *out_size,
                                               troika_error *error);

/**
 * Writes the trace of the last step as JSON in the Trace Event Format, which ui.perfetto.dev and
 * chrome://tracing show: every launch, collective and message of all ranks. Needs `collect_trace`.
 * The file appears whole or not at all.
 *
 *     options.collect_trace = 1;
 *     troika_model_attach(model, &cpu, 1, &options, &trainer, &error);
 *     troika_trainer_step(trainer, batch, NULL, &error);
 *     troika_trainer_save_trace(trainer, "step.json", &error);
 *
 * A process of the file is a process of the group. It has two kinds of tracks:
 * - "rank 3, cpu:1": the launches of a rank, its messages, and the starts of collectives and the
 *   waits for them, one after another;
 * - "rank 3, exchange": collectives, from the start until the result is there. Further tracks hold
 *   those that overlap. On GPUs a collective lasts until the end of its wait.
 *
 * Times are in microseconds since the begin of the first event. Arrows connect the two ends of a
 * message. `args` has the kind of an event, and its kernel, operations and bytes if they are known:
 * of a launch, the bytes that it reads and writes. The times of launches are those of
 * `troika_trainer_trace`. Names and `args` may change in later versions.
 *
 * With a group the call is collective, each process with a `file`; rank 0 writes its file, and an
 * error reaches all. Processes of one machine have one clock. The clocks of other machines are
 * compared by messages: `otherData` of the file has `clock_error_us`, by process, the most that
 * times may be wrong.
 *
 * Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (`file` is NULL), IO, OUT_OF_MEMORY,
 * BUSY, COMM. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_save_trace(troika_trainer trainer, const char *file,
                                                    troika_error *error);

TROIKA_END_DECLS

#endif
