// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

/// Options of [`troika_trainer_forward`](crate::troika_trainer_forward). Begin with
/// `TROIKA_FORWARD_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_forward_options {
    /// sizeof([`troika_forward_options`](crate::troika_forward_options)).
    pub struct_size: u32,
    /// 1: the backward pass also computes the gradient of the inputs, which must be f32. Default 0.
    pub input_gradient: i32,
    /// 1: [`troika_trainer_backward`](crate::troika_trainer_backward) takes the gradient of the
    /// output from the caller; the targets of the batch are not read, and a batch may have none.
    /// Default 0: the trainer's own loss.
    pub own_loss: i32,
    /// 0.
    pub reserved: i32,
    /// Above 0: the gradient of the trainer's loss is multiplied by this number; the loss that is
    /// reported is not. n / N for a pass over n of N samples makes the sum of all passes the
    /// gradient of the mean over the N samples. 0 (default): 1. Excludes `own_loss`.
    pub weight: f64,
}

extern "C" {
    /// Fills options as `TROIKA_FORWARD_OPTIONS_INIT` does. Any thread.
    pub fn troika_forward_options_init(options: *mut troika_forward_options, struct_size: u32);

    /// Runs the forward pass of a training step on a batch, on all devices. \*`out_output`, if not
    /// NULL, receives a new f32 tensor \[batch, the output's shape\] on the first device.
    /// `out_result`, if not NULL, receives loss, samples, labels, correct and seconds; with
    /// `own_loss`, samples and seconds. options may be NULL: defaults.
    ///
    /// The activations stay until the next call that computes: a step, a forward pass, an
    /// evaluation, a prediction, [`troika_trainer_apply`](crate::troika_trainer_apply), or one that
    /// compiles a plan or loads a state.
    ///
    /// Dropout draws the masks of a step, and others in each pass that is added to earlier ones.
    /// Returns STOPPED after [`troika_trainer_request_stop`](crate::troika_trainer_request_stop),
    /// and does nothing.
    ///
    /// Owned: destroy \*`out_output`. Errors: those of
    /// [`troika_trainer_step`](crate::troika_trainer_step); INVALID_ARGUMENT also for a batch
    /// without targets and without `own_loss`, and for `input_gradient` with tokens; UNSUPPORTED
    /// also for `input_gradient` if the output does not depend on the input. One thread per trainer
    /// at a time; reads the batch.
    pub fn troika_trainer_forward(
        trainer: troika_trainer,
        batch: troika_batch,
        options: *const troika_forward_options,
        out_output: *mut troika_tensor,
        out_result: *mut troika_step_result,
        error: *mut troika_error,
    ) -> troika_status;

    /// Runs the backward pass of the last forward pass, and sums the gradients over all devices.
    /// They are added to those that are there since the last apply: several forward and backward
    /// passes before one apply accumulate gradients. `output_gradient`, f32 \[batch, the output's
    /// shape\], is the gradient of the caller's loss with respect to the output; NULL without
    /// `own_loss`.
    ///
    /// The gradient of a mean loss is that of the mean over its own batch: sums of several such
    /// passes are sums of means. A step, a load, or a change of frozen parameters discards the
    /// gradients.
    ///
    /// The caller's loss is whatever has this gradient; for a mean over a batch it has the factor 1
    /// / samples. With loss scaling, the library multiplies by the scale.
    ///
    /// Errors: NOT_INITIALIZED (no forward pass, or its activations are no longer there),
    /// INVALID_ARGUMENT (a gradient that is missing, not needed, or of another shape),
    /// OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time; reads
    /// `output_gradient`.
    pub fn troika_trainer_backward(
        trainer: troika_trainer,
        output_gradient: troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies the gradient of the inputs of the last backward pass into data in host memory,
    /// `size_bytes` long: f32, row-major, in the shape of the batch's inputs, without the loss
    /// scale. Errors: NOT_INITIALIZED (no backward pass with `input_gradient`), INVALID_ARGUMENT
    /// (the size differs), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_get_input_gradient(
        trainer: troika_trainer,
        data: *mut f32,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Replaces the gradient of a parameter, on all devices, by data in host memory, `size_bytes`
    /// long: f32, row-major, in the parameter's shape, without the loss scale.
    /// [`troika_trainer_get_gradient`](crate::troika_trainer_get_gradient) reads it. It holds until
    /// the next backward pass adds to it, or until apply.
    ///
    /// Errors: NOT_FOUND (no such name), NOT_INITIALIZED (a frozen parameter, a buffer; no backward
    /// pass since the last apply), INVALID_ARGUMENT (the size differs), OUT_OF_MEMORY, BUSY, COMM,
    /// DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_set_gradient(
        trainer: troika_trainer,
        name: *const c_char,
        data: *const f32,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Updates the parameters with the gradients that are there: clipping, optimizer, averages. The
    /// step counts as one of [`troika_trainer_step`](crate::troika_trainer_step). The next backward
    /// pass begins with new gradients. `out_result`, if not NULL, receives step, learning rate,
    /// loss scale and the norm of the gradient.
    ///
    /// Returns STEP_SKIPPED as [`troika_trainer_step`](crate::troika_trainer_step) does.
    ///
    /// Errors: NOT_INITIALIZED (no backward pass since the last apply), OUT_OF_MEMORY, BUSY, COMM,
    /// DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_apply(
        trainer: troika_trainer,
        out_result: *mut troika_step_result,
        error: *mut troika_error,
    ) -> troika_status;
}
