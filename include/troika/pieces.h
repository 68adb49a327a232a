/** @file pieces.h Training in pieces: forward, backward and apply as separate calls.
 *
 * A step of `troika_trainer_step` is a forward pass, a backward pass and an update. A host that
 * needs to do something between them calls them one by one:
 *
 *     troika_trainer_forward(trainer, batch, NULL, &output, &result, &error);
 *     troika_trainer_backward(trainer, NULL, &error);       // of the trainer's own loss
 *     troika_trainer_set_gradient(trainer, "fc.weight", gradient, bytes, &error);
 *     troika_trainer_apply(trainer, &result, &error);
 *
 * Forward, backward and apply without anything in between compute the bits of
 * `troika_trainer_step`, on any number of devices, with any mesh and precision.
 *
 * Threads: those of trainers: one call at a time.
 */
#ifndef TROIKA_PIECES_H
#define TROIKA_PIECES_H

#include <troika/trainer.h>

TROIKA_BEGIN_DECLS

/** Options of `troika_trainer_forward`. Begin with TROIKA_FORWARD_OPTIONS_INIT. */
typedef struct troika_forward_options {
  uint32_t struct_size;   /**< sizeof(troika_forward_options). */
  /** 1: the backward pass also computes the gradient of the inputs, which must be f32. Default
   *  0. */
  int32_t input_gradient;
  /** 1: `troika_trainer_backward` takes the gradient of the output from the caller; the targets of
   *  the batch are not read, and a batch may have none. Default 0: the trainer's own loss. */
  int32_t own_loss;
  int32_t reserved;       /**< 0. */
  /** Above 0: the gradient of the trainer's loss is multiplied by this number; the loss that is
   *  reported is not. n / N for a pass over n of N samples makes the sum of all passes the gradient
   *  of the mean over the N samples. 0 (default): 1. Excludes `own_loss`. */
  double weight;
} troika_forward_options;

/** The trainer's own loss, no gradient of the inputs. */
#define TROIKA_FORWARD_OPTIONS_INIT \
  { sizeof(troika_forward_options), 0, 0, 0, 0.0 }

/** Fills `options` as TROIKA_FORWARD_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_forward_options_init(troika_forward_options *options, uint32_t struct_size);

/**
 * Runs the forward pass of a training step on a batch, on all devices. `*out_output`, if not NULL,
 * receives a new f32 tensor [batch, the output's shape] on the first device. `out_result`, if not
 * NULL, receives loss, samples, labels, correct and seconds; with `own_loss`, samples and seconds.
 * `options` may be NULL: defaults.
 *
 * The activations stay until the next call that computes: a step, a forward pass, an evaluation, a
 * prediction, `troika_trainer_apply`, or one that compiles a plan or loads a state.
 *
 * Dropout draws the masks of a step, and others in each pass that is added to earlier ones. Returns
 * STOPPED after `troika_trainer_request_stop`, and does nothing.
 *
 * Owned: destroy `*out_output`. Errors: those of `troika_trainer_step`; INVALID_ARGUMENT also for a
 * batch without targets and without `own_loss`, and for `input_gradient` with tokens; UNSUPPORTED
 * also for `input_gradient` if the output does not depend on the input. One thread per trainer at a
 * time; reads the batch.
 */
TROIKA_API(troika_status) troika_trainer_forward(troika_trainer trainer, troika_batch batch,
                                                 const troika_forward_options *options,
                                                 troika_tensor *out_output,
                                                 troika_step_result *out_result,
                                                 troika_error *error);

/**
 * Runs the backward pass of the last forward pass, and sums the gradients over all devices. They
 * are added to those that are there since the last apply: several forward and backward passes
 * before one apply accumulate gradients. `output_gradient`, f32 [batch, the output's shape], is the
 * gradient of the caller's loss with respect to the output; NULL without `own_loss`.
 *
 * The gradient of a mean loss is that of the mean over its own batch: sums of several such passes
 * are sums of means. A step, a load, or a change of frozen parameters discards the gradients.
 *
 * The caller's loss is whatever has this gradient; for a mean over a batch it has the factor
 * 1 / samples. With loss scaling, the library multiplies by the scale.
 *
 * Errors: NOT_INITIALIZED (no forward pass, or its activations are no longer there),
 * INVALID_ARGUMENT (a gradient that is missing, not needed, or of another shape), OUT_OF_MEMORY,
 * BUSY, COMM, DETACHED. One thread per trainer at a time; reads `output_gradient`.
 */
TROIKA_API(troika_status) troika_trainer_backward(troika_trainer trainer,
                                                  troika_tensor output_gradient,
                                                  troika_error *error);

/**
 * Copies the gradient of the inputs of the last backward pass into `data` in host memory,
 * `size_bytes` long: f32, row-major, in the shape of the batch's inputs, without the loss scale.
 *
 * Errors: NOT_INITIALIZED (no backward pass with `input_gradient`), INVALID_ARGUMENT (the size
 * differs), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_input_gradient(troika_trainer trainer, float *data,
                                                            int64_t size_bytes,
                                                            troika_error *error);

/**
 * Replaces the gradient of a parameter, on all devices, by `data` in host memory, `size_bytes`
 * long: f32, row-major, in the parameter's shape, without the loss scale.
 * `troika_trainer_get_gradient` reads it. It holds until the next backward pass adds to it, or
 * until apply.
 *
 * Errors: NOT_FOUND (no such name), NOT_INITIALIZED (a frozen parameter, a buffer; no backward pass
 * since the last apply), INVALID_ARGUMENT (the size differs), OUT_OF_MEMORY, BUSY, COMM, DETACHED.
 * One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_set_gradient(troika_trainer trainer, const char *name,
                                                      const float *data, int64_t size_bytes,
                                                      troika_error *error);

/**
 * Updates the parameters with the gradients that are there: clipping, optimizer, averages. The step
 * counts as one of `troika_trainer_step`. The next backward pass begins with new gradients.
 * `out_result`, if not NULL, receives step, learning rate, loss scale and the norm of the gradient.
 *
 * Returns STEP_SKIPPED as `troika_trainer_step` does.
 *
 * Errors: NOT_INITIALIZED (no backward pass since the last apply), OUT_OF_MEMORY, BUSY, COMM,
 * DETACHED. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_apply(troika_trainer trainer,
                                               troika_step_result *out_result, troika_error *error);

TROIKA_END_DECLS

#endif
