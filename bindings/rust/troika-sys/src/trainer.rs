// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::{c_char, c_void};

/// The object that [`troika_trainer`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_trainer_s {
    _private: [u8; 0],
}

/// A model attached to a list of devices, which share its batches, layers and channels. Counted.
pub type troika_trainer = *mut troika_trainer_s;

/// A progress callback. It is called after each batch of
/// [`troika_trainer_train_epoch`](crate::troika_trainer_train_epoch),
/// [`troika_trainer_train_batches`](crate::troika_trainer_train_batches),
/// [`troika_trainer_predict_loader`](crate::troika_trainer_predict_loader) and evaluations, on the
/// thread that called them. Non-zero stops the call. An exception of C++ ends the call with
/// CALLBACK. On GPUs, training on the next batch may have started by then; that step completes and
/// counts. Borrowed until the callback returns: progress. The callback must not call this trainer,
/// except [`troika_trainer_request_stop`](crate::troika_trainer_request_stop).
pub type troika_progress_function =
    Option<unsafe extern "C" fn(progress: *const troika_progress, user: *mut c_void) -> i32>;

/// Memory of one replica in bytes. Filled by
/// [`troika_trainer_memory`](crate::troika_trainer_memory).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_memory_info {
    /// Set by the caller to sizeof([`troika_memory_info`](crate::troika_memory_info)).
    pub struct_size: u32,
    /// Compiled plans: one per mode and batch size. At most 16 are kept.
    pub plans: i32,
    /// Activations, their gradients and scratch, shared by all plans.
    pub arena_bytes: i64,
    /// Parameters, buffers, and copies of parameters in 16 bits.
    pub parameter_bytes: i64,
    /// Gradients of parameters; twice after sums over passes.
    pub gradient_bytes: i64,
    /// Optimizer state.
    pub optimizer_bytes: i64,
    /// Datasets that the device keeps (`samples_on_host`).
    pub sample_bytes: i64,
}

/// Sums over many batches. Filled by calls that train on or evaluate the batches of a loader.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_metrics {
    /// Set by the caller to sizeof([`troika_metrics`](crate::troika_metrics)).
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// Mean over all labels, by weight.
    pub loss: f64,
    /// correct / labels.
    pub accuracy: f64,
    /// Samples seen.
    pub samples: i64,
    /// Labels whose largest output is the label's own.
    pub correct: i64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Labels seen that are not ignored; samples for other losses.
    pub labels: i64,
    /// Steps that were skipped ([`TROIKA_STEP_SKIPPED`](crate::TROIKA_STEP_SKIPPED)); 0 of an
    /// evaluation.
    pub skipped_steps: i64,
}

/// The progress after a batch, as a progress callback receives it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_progress {
    /// The bytes that the library filled.
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// Batches of this epoch that are done.
    pub batch: i64,
    /// Batches in the epoch; see [`troika_loader_position`](crate::troika_loader_position) for
    /// streams.
    pub batches: i64,
    /// Epoch of the loader, from 0.
    pub epoch: i64,
    /// Samples done in this call.
    pub samples: i64,
    /// Those of labels that were classified correctly.
    pub correct: i64,
    /// Mean over the labels of this call, by weight.
    pub loss: f64,
    /// Since the call began.
    pub seconds: f64,
    /// 1 while training, 0 while evaluating or predicting.
    pub training: i32,
    /// 1: this batch's step was skipped ([`TROIKA_STEP_SKIPPED`](crate::TROIKA_STEP_SKIPPED)). If
    /// the loss of the batch is then not finite, the sums over this call leave the batch out.
    pub skipped: i32,
    /// Mean over the labels of this batch, by weight.
    pub batch_loss: f64,
    /// Samples of this batch.
    pub batch_samples: i64,
    /// Those of `batch_labels` that were classified correctly.
    pub batch_correct: i64,
    /// The trainer's rate that this step used; 0 while evaluating.
    pub learning_rate: f64,
    /// Labels done in this call that are not ignored; samples for other losses.
    pub labels: i64,
    /// Those of labels that belong to this batch.
    pub batch_labels: i64,
    /// Seconds of this step in which the devices of this process waited for others: those of the
    /// device that waited least. Without a group the others are the trainer's own. The process that
    /// waits least is the one that the others wait for. 0 with devices that run ahead of the host
    /// (GPUs), and while evaluating.
    pub wait_seconds: f64,
}

/// How a training state is saved. Begin with `TROIKA_SAVE_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_save_options {
    /// sizeof([`troika_save_options`](crate::troika_save_options)).
    pub struct_size: u32,
    /// 0 (default): writes the file at path. K above 0: puts the step before the extension, as in
    /// state-000000001200.safetensors for the path state.safetensors, and removes all but the
    /// newest K of these files. At most 65536.
    pub keep: i32,
    /// 1: the call returns when the state has been copied to host memory. A thread of the library
    /// writes the file. Default 0.
    pub in_background: i32,
    /// 0.
    pub reserved: i32,
}

/// The result of a step. Filled by [`troika_trainer_step`](crate::troika_trainer_step).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_step_result {
    /// Set by the caller to sizeof([`troika_step_result`](crate::troika_step_result)).
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// Loss of the batch before the update: mean or sum, by reduction.
    pub loss: f64,
    /// Samples in the batch.
    pub samples: i64,
    /// Those of labels whose largest output is the label's own; 0 for other losses. A label whose
    /// outputs are not numbers is not correct.
    pub correct: i64,
    /// Steps done, including this one.
    pub step: i64,
    /// The trainer's rate that this step used; groups may have others.
    pub learning_rate: f64,
    /// Wall-clock time of the step.
    pub seconds: f64,
    /// The loss scale that this step used; 1 without loss scaling.
    pub loss_scale: f64,
    /// The 2-norm of all gradients together before clipping; not finite if one of them is not. 0
    /// without `max_gradient_norm`.
    pub gradient_norm: f64,
    /// Labels that are not ignored, over which the mean is computed; samples for other losses.
    pub labels: i64,
}

extern "C" {
    /// Attaches a model to `device_count` devices, 1 to 1024, with one replica on each; the same
    /// device twice gets two replicas. Parameters without a value take the model's default
    /// initialisation. All replicas start from the model's parameters and stay bit-identical. A
    /// model has one trainer at a time: attaching again takes the parameters over, and calls on the
    /// earlier trainer return DETACHED.
    ///
    /// A step computes what a single device computes on the whole batch. Without shares, samples
    /// are split evenly: sizes differ by at most one, and a device may get none. Without weights,
    /// every sample counts the same. Gradients are summed in pairs of the list of devices, then in
    /// pairs of pairs. Without `logical_shards`, GPUs that are each named once are connected by
    /// NCCL, which adds in its own order.
    ///
    /// CPUs and GPUs may be in one list. Their data meet in host memory, and each update is made by
    /// one device for all, as with `shard_optimizer`. A split by channel needs devices of one kind
    /// for the channels of a layer.
    ///
    /// The exception is BatchNorm: with `sync_batch_norm` 0, each device normalises its own
    /// samples. The running statistics are those of the first device; with shares, of the first
    /// with the largest part.
    ///
    /// options.mesh also splits the network by layer and by channel. Each device then holds its
    /// part of the network. A step computes the same, except that BatchNorm normalises each
    /// micro-batch by itself.
    ///
    /// options may be NULL: defaults. Owned: destroy \*`out_trainer` with
    /// [`troika_trainer_destroy`](crate::troika_trainer_destroy).
    ///
    /// Errors:
    ///
    /// - INVALID_ARGUMENT: a field, which the message names.
    /// - INVALID_ARGUMENT: a mesh that does not fit the number of devices or the model.
    /// - INVALID_ARGUMENT: a model with no output, or with nothing left to train; a parameter that
    ///   does not reach the loss.
    /// - NOT_FOUND: a group, or a pattern of `recompute_layers`, that matches nothing; a layer of
    ///   `layer_cuts` that the model does not have.
    /// - UNSUPPORTED: `logical_shards` with a split by layer or channel; a parameter shared by
    ///   layers that a split by channel cuts differently; channels of a layer on a CPU and a GPU,
    ///   or `late_updates` on both.
    /// - DEVICE_UNAVAILABLE: names the device.
    /// - OUT_OF_MEMORY: also if activations cannot fit into `activation_budget_bytes`.
    /// - BUSY: also while the model's earlier trainer is in a call.
    /// - COMM: a step of the earlier trainer missed its deadline and still runs.
    ///
    /// One thread per model at a time.
    pub fn troika_model_attach(
        model: troika_model,
        devices: *const troika_device,
        device_count: i32,
        options: *const troika_trainer_options,
        out_trainer: *mut troika_trainer,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a trainer; its parameters stay with the model. NULL is
    /// ignored. Never fails. Any thread, but not while another is inside a call with the same
    /// handle.
    pub fn troika_trainer_destroy(trainer: troika_trainer);

    /// Fills result as `TROIKA_STEP_RESULT_INIT` does. Any thread.
    pub fn troika_step_result_init(result: *mut troika_step_result, struct_size: u32);

    /// Trains on one batch: forward, loss, backward, all-reduce of gradients, update. `out_result`
    /// may be NULL. On GPUs, without loss scaling and `skip_not_finite`, the call then returns
    /// while the step still runs, and an error of the step is returned by a later call. A batch of
    /// a new size compiles a plan first, so this step takes longer.
    ///
    /// Returns STEP_SKIPPED if loss scaling, or `skip_not_finite`, met a gradient that is not
    /// finite on any device. Parameters and optimizer state are then unchanged. The loss scale is
    /// halved, but not below 1. The step still counts for step, schedule and warm-up, and
    /// BatchNorm's running statistics have changed. In any step, running statistics of a channel
    /// stay as they are if those of the batch are not finite.
    ///
    /// Returns STOPPED after [`troika_trainer_request_stop`](crate::troika_trainer_request_stop);
    /// nothing is done then.
    ///
    /// Errors:
    ///
    /// - INVALID_ARGUMENT, with nothing changed: type or shape of the inputs; kind or number of
    ///   targets; a label or token outside its range; a share of the batch that BatchNorm cannot
    ///   normalise; samples in another order than
    ///   [`troika_trainer_load`](crate::troika_trainer_load) expects.
    /// - OUT_OF_MEMORY: the trainer stays usable with a smaller batch.
    /// - UNSUPPORTED: an op that a device has no kernel for.
    /// - BUSY, COMM, DETACHED.
    ///
    /// One thread per trainer at a time; reads the batch.
    pub fn troika_trainer_step(
        trainer: troika_trainer,
        batch: troika_batch,
        out_result: *mut troika_step_result,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sets the progress callback; NULL removes it. `user_destroy`, if not NULL, is called with
    /// user when another callback takes its place, or when the trainer is destroyed. If the call
    /// fails, it is not called. Errors: BUSY. One thread per trainer at a time.
    pub fn troika_trainer_set_progress(
        trainer: troika_trainer,
        function: troika_progress_function,
        user: *mut c_void,
        user_destroy: troika_destroy_function,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills metrics as `TROIKA_METRICS_INIT` does. Any thread.
    pub fn troika_metrics_init(metrics: *mut troika_metrics, struct_size: u32);

    /// Trains on the remaining batches of the loader's epoch, one step per batch, and leaves the
    /// loader at the start of the next epoch. `out_metrics` may be NULL; it is filled for STOPPED
    /// too. A batch whose step was skipped counts in it only if its loss is finite.
    ///
    /// Returns STOPPED after [`troika_trainer_request_stop`](crate::troika_trainer_request_stop),
    /// or if the progress callback returned non-zero, or if the dataset's callback wants to stop.
    /// After STOPPED and CALLBACK, and after a batch that is refused, the loader is at the batch
    /// after the last one that was trained on. After COMM and other errors of a step, go on from a
    /// training state instead.
    ///
    /// Errors: those of [`troika_trainer_step`](crate::troika_trainer_step); INVALID_ARGUMENT also
    /// if the loader's dataset is too small for any batch; BUSY also if the loader is in use;
    /// CALLBACK (of the dataset or of the progress). One thread per trainer, and per loader, at a
    /// time.
    pub fn troika_trainer_train_epoch(
        trainer: troika_trainer,
        loader: troika_loader,
        out_metrics: *mut troika_metrics,
        error: *mut troika_error,
    ) -> troika_status;

    /// Trains as [`troika_trainer_train_epoch`](crate::troika_trainer_train_epoch) does, on at most
    /// batches of the epoch's remaining batches. No further step has begun when the call returns,
    /// so a training state that is saved then is exactly that of the last of these steps. Returns
    /// END_OF_DATA if the call reached the end of the epoch; the loader is then at the start of the
    /// next one. If the last batch of a stream is full, only the next call reaches the end.
    ///
    /// Errors: those of [`troika_trainer_train_epoch`](crate::troika_trainer_train_epoch);
    /// INVALID_ARGUMENT also if batches is below 1. One thread per trainer, and per loader, at a
    /// time.
    pub fn troika_trainer_train_batches(
        trainer: troika_trainer,
        loader: troika_loader,
        batches: i64,
        out_metrics: *mut troika_metrics,
        error: *mut troika_error,
    ) -> troika_status;

    /// Lets the loader read only those samples of each batch that this process's devices need, for
    /// [`troika_trainer_step`](crate::troika_trainer_step) and other calls that take a batch. Calls
    /// that take the loader do so themselves. Without a group the loader reads whole batches.
    ///
    /// Errors: BUSY (the trainer or the loader is in use), OUT_OF_MEMORY. One thread per trainer,
    /// and per loader, at a time.
    pub fn troika_trainer_divide_loader(
        trainer: troika_trainer,
        loader: troika_loader,
        error: *mut troika_error,
    ) -> troika_status;

    /// Evaluates an epoch of the loader, from its first batch, on all attached devices. Sums losses
    /// and counts over the samples, so the result is exact for any number of samples. BatchNorm
    /// uses its running statistics; nothing is changed. Leaves the loader at the start of the next
    /// epoch, except after STOPPED.
    ///
    /// Returns STOPPED after [`troika_trainer_request_stop`](crate::troika_trainer_request_stop),
    /// or if the progress callback returned non-zero, or if the dataset's callback wants to stop.
    /// `out_metrics` may be NULL; it is filled for STOPPED too.
    ///
    /// Errors: those of [`troika_trainer_train_epoch`](crate::troika_trainer_train_epoch). One
    /// thread per trainer, and per loader, at a time.
    pub fn troika_trainer_evaluate(
        trainer: troika_trainer,
        loader: troika_loader,
        out_metrics: *mut troika_metrics,
        error: *mut troika_error,
    ) -> troika_status;

    /// Evaluates as [`troika_trainer_evaluate`](crate::troika_trainer_evaluate) does, on only one
    /// attached device, with no communication. In a group all processes call it, each with one of
    /// its devices and a loader of its own, because BatchNorm's running statistics may have to
    /// travel first.
    ///
    /// Errors: those of [`troika_trainer_evaluate`](crate::troika_trainer_evaluate); NOT_ON_DEVICE
    /// if the model is not attached to device; UNSUPPORTED also if the model is split by layer or
    /// channel. One thread per trainer, and per loader, at a time.
    pub fn troika_trainer_evaluate_on(
        trainer: troika_trainer,
        device: troika_device,
        loader: troika_loader,
        out_metrics: *mut troika_metrics,
        error: *mut troika_error,
    ) -> troika_status;

    /// Evaluates one batch as [`troika_trainer_evaluate`](crate::troika_trainer_evaluate) does,
    /// such as a batch of the caller's own. `out_result` receives loss (mean or sum, by reduction),
    /// samples, labels, correct and seconds; its other fields are 0.
    ///
    /// Returns STOPPED after [`troika_trainer_request_stop`](crate::troika_trainer_request_stop).
    /// Errors: those of [`troika_trainer_step`](crate::troika_trainer_step). One thread per trainer
    /// at a time; reads the batch.
    pub fn troika_trainer_evaluate_batch(
        trainer: troika_trainer,
        batch: troika_batch,
        out_result: *mut troika_step_result,
        error: *mut troika_error,
    ) -> troika_status;

    /// Predicts an epoch of the loader, from its first batch, on all attached devices. output is
    /// f32 \[samples, the output's shape\] in host memory, `size_bytes` long, with samples in the
    /// loader's order. \*`out_samples`, if not NULL, receives the number of samples, also for
    /// STOPPED. Targets are not read. Leaves the loader at the start of the next epoch, except
    /// after STOPPED and errors.
    ///
    /// Returns STOPPED after [`troika_trainer_request_stop`](crate::troika_trainer_request_stop),
    /// or if the progress callback returned non-zero, or if the dataset's callback wants to stop.
    ///
    /// Errors: those of [`troika_trainer_predict`](crate::troika_trainer_predict); INVALID_ARGUMENT
    /// also if `size_bytes` is too small for the loader's samples, which a stream finds out at the
    /// batch that no longer fits, or if there is no batch; BUSY also if the loader is in use;
    /// CALLBACK. One thread per trainer, and per loader, at a time.
    pub fn troika_trainer_predict_loader(
        trainer: troika_trainer,
        loader: troika_loader,
        output: *mut f32,
        size_bytes: i64,
        out_samples: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Predicts one batch as [`troika_trainer_predict`](crate::troika_trainer_predict) does, into
    /// host memory: output is f32 \[samples, the output's shape\], `size_bytes` long. Targets are
    /// not read, and the batch may have none.
    ///
    /// Errors: those of [`troika_trainer_predict`](crate::troika_trainer_predict); INVALID_ARGUMENT
    /// also if `size_bytes` differs. One thread per trainer at a time; reads the batch.
    pub fn troika_trainer_predict_batch(
        trainer: troika_trainer,
        batch: troika_batch,
        output: *mut f32,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Runs the network in evaluation mode on all attached devices. input is \[batch, ...\], of the
    /// type of the model's input. The output is a new f32 tensor \[batch, the output's shape\] on
    /// the first device, with samples in the order of the input.
    ///
    /// Owned: destroy \*`out_output`. Errors: INVALID_ARGUMENT (shape or dtype, a token outside its
    /// range), OUT_OF_MEMORY, UNSUPPORTED (an op that a device has no kernel for), BUSY, COMM,
    /// DETACHED. One thread per trainer at a time; reads input.
    pub fn troika_trainer_predict(
        trainer: troika_trainer,
        input: troika_tensor,
        out_output: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Asks for a stop. Training on a loader, or evaluation, that is in progress returns STOPPED
    /// between two batches, also while it waits for the loader's thread. If neither is in progress,
    /// the next step, training or evaluation returns STOPPED. A step in progress completes; a plan
    /// that is being compiled is given up. The request holds until a call returns STOPPED, or until
    /// [`troika_trainer_clear_stop`](crate::troika_trainer_clear_stop). Loading, saving and
    /// predicting, except [`troika_trainer_predict_loader`](crate::troika_trainer_predict_loader),
    /// take no notice of it.
    ///
    /// Errors: only INVALID_ARGUMENT, if the handle is not a trainer's. Any thread, at any time;
    /// also from a signal handler.
    pub fn troika_trainer_request_stop(
        trainer: troika_trainer,
        error: *mut troika_error,
    ) -> troika_status;

    /// Takes back a stop that was asked for and that no call has returned yet. Errors, threads and
    /// signal handlers: as [`troika_trainer_request_stop`](crate::troika_trainer_request_stop).
    pub fn troika_trainer_clear_stop(
        trainer: troika_trainer,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sets the base learning rate from the next step on; the schedule continues and multiplies the
    /// new rate. group is an index into the options' groups, or -1 for the trainer. A group then
    /// has its own rate.
    ///
    /// Errors: INVALID_ARGUMENT (below 0, not finite, no such group), BUSY, COMM, DETACHED. One
    /// thread per trainer at a time.
    pub fn troika_trainer_set_learning_rate(
        trainer: troika_trainer,
        group: i32,
        learning_rate: f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns in \*`out_learning_rate` the learning rate that the next step will use, with
    /// schedule and warm-up applied. group is as in
    /// [`troika_trainer_set_learning_rate`](crate::troika_trainer_set_learning_rate).
    ///
    /// Errors: INVALID_ARGUMENT (no such group), BUSY. One thread per trainer at a time.
    pub fn troika_trainer_get_learning_rate(
        trainer: troika_trainer,
        group: i32,
        out_learning_rate: *mut f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sets an option (`TROIKA_OPTION_`\*) from the next step on. group is an index into the
    /// options' groups, or -1 for the trainer. A group without its own value has the trainer's.
    ///
    /// Nothing is attached or compiled again, except that
    /// [`TROIKA_OPTION_FROZEN`](crate::TROIKA_OPTION_FROZEN) makes new plans. Parameters that
    /// become frozen lose their optimizer state, and parameters that are no longer frozen begin
    /// without any. All other parameters keep theirs. A training state keeps the values of options,
    /// and loads into a trainer with the same groups frozen.
    ///
    /// Errors, after which nothing has changed:
    ///
    /// - INVALID_ARGUMENT: no such group; an option that the optimizer does not have; a value out
    ///   of its range; nothing left to train.
    /// - INVALID_ARGUMENT: momentum above 0 if the trainer was attached without momentum.
    /// - OUT_OF_MEMORY, BUSY, COMM, DETACHED.
    ///
    /// One thread per trainer at a time.
    pub fn troika_trainer_set_option(
        trainer: troika_trainer,
        group: i32,
        option: i32,
        value: f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns the value of an option (`TROIKA_OPTION_`\*) in \*`out_value`. The value of a
    /// learning rate is the base rate, before the schedule. group is as in
    /// [`troika_trainer_set_option`](crate::troika_trainer_set_option).
    ///
    /// Errors: INVALID_ARGUMENT (no such group, an option that the optimizer does not have), BUSY.
    /// One thread per trainer at a time.
    pub fn troika_trainer_get_option(
        trainer: troika_trainer,
        group: i32,
        option: i32,
        out_value: *mut f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reports a metric of the caller to a trainer whose schedule is
    /// [`TROIKA_SCHEDULE_PLATEAU`](crate::TROIKA_SCHEDULE_PLATEAU), usually once per evaluation.
    /// The learning rate may fall from the next step on.
    ///
    /// Errors: INVALID_ARGUMENT (another schedule, a metric that is NaN), BUSY, COMM, DETACHED. One
    /// thread per trainer at a time.
    pub fn troika_trainer_report_metric(
        trainer: troika_trainer,
        metric: f64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies the parameter or buffer that the replica on device holds, row-major, into data in
    /// host memory, `size_bytes` long. If several replicas are on device, the first counts. A
    /// parameter that a split by channel has cut is copied whole, from all devices that hold a
    /// part.
    ///
    /// Errors: NOT_FOUND (no such name), NOT_ON_DEVICE (names the parameter, the device and the
    /// devices that hold the parameter), INVALID_ARGUMENT if the size differs, OUT_OF_MEMORY, BUSY,
    /// COMM, DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_get_parameter(
        trainer: troika_trainer,
        name: *const c_char,
        device: troika_device,
        data: *mut c_void,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies the gradient of the last step into data in host memory, `size_bytes` long: f32,
    /// row-major, in the parameter's shape. The gradient is reduced over all devices, without the
    /// loss scale, and not clipped.
    ///
    /// Errors:
    ///
    /// - NOT_FOUND: no such name.
    /// - NOT_INITIALIZED: a frozen parameter or a buffer; no step yet, also since
    ///   [`troika_trainer_load`](crate::troika_trainer_load) or since
    ///   [`TROIKA_OPTION_FROZEN`](crate::TROIKA_OPTION_FROZEN) last changed.
    /// - INVALID_ARGUMENT: the size differs.
    /// - OUT_OF_MEMORY, BUSY, COMM, DETACHED.
    ///
    /// One thread per trainer at a time.
    pub fn troika_trainer_get_gradient(
        trainer: troika_trainer,
        name: *const c_char,
        data: *mut f32,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Compares parameters and optimizer state of all replicas bit by bit, and returns OK if they
    /// are identical. BatchNorm's running statistics are not compared: they belong to the first
    /// device. In a group, parameters of different processes are compared by checksums.
    ///
    /// Errors: MISMATCH (names parameter and devices), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One
    /// thread per trainer at a time.
    pub fn troika_trainer_check_replicas(
        trainer: troika_trainer,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes a training state, from which training resumes bit for bit on the same mesh and
    /// correctly on any other mesh; with `logical_shards` bit for bit there too. The state has
    /// parameters, buffers, optimizer state, schedule, step, seeds, and the place in the epoch
    /// after the last batch. It is one safetensors file, written atomically; its bytes do not
    /// depend on the mesh.
    ///
    /// Errors: IO, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_save(
        trainer: troika_trainer,
        path: *const c_char,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills options as `TROIKA_SAVE_OPTIONS_INIT` does. Any thread.
    pub fn troika_save_options_init(options: *mut troika_save_options, struct_size: u32);

    /// Writes a training state as [`troika_trainer_save`](crate::troika_trainer_save) does, with
    /// options. options may be NULL.
    ///
    /// In the background, one file is written at a time: the call waits for the file before. An
    /// error of the file is returned by the next call of this function or of
    /// [`troika_trainer_wait_save`](crate::troika_trainer_wait_save), which then does nothing else.
    /// Destroying the trainer waits for the file.
    ///
    /// Errors: those of [`troika_trainer_save`](crate::troika_trainer_save); INVALID_ARGUMENT (a
    /// field, which the message names; a path that ends in a slash). One thread per trainer at a
    /// time.
    pub fn troika_trainer_save_with(
        trainer: troika_trainer,
        path: *const c_char,
        options: *const troika_save_options,
        error: *mut troika_error,
    ) -> troika_status;

    /// Waits until no file of [`troika_trainer_save_with`](crate::troika_trainer_save_with) is
    /// being written, and returns the error of the last one. Errors: those of
    /// [`troika_trainer_save`](crate::troika_trainer_save). One thread per trainer at a time.
    pub fn troika_trainer_wait_save(
        trainer: troika_trainer,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes a model file, as [`troika_model_save`](crate::troika_model_save) does, with the
    /// moving averages of the parameters that are trained. Other parameters and buffers are written
    /// as they are. The file is written atomically.
    ///
    /// Errors: INVALID_ARGUMENT (attached without `average_decay`), IO, OUT_OF_MEMORY, BUSY, COMM,
    /// DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_save_average(
        trainer: troika_trainer,
        path: *const c_char,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads a training state. The model, the options that determine the run (precision, optimizer,
    /// loss, schedule, seed, groups and others), and every name and shape must agree. A refused
    /// file changes nothing.
    ///
    /// `out_position`, if not NULL, receives the place in the epoch for
    /// [`troika_loader_seek`](crate::troika_loader_seek). A loader that is moved there must have
    /// the shuffle, seed, weights, flip and crop of the run that was saved. If its next batch has
    /// other samples, a step refuses that batch with INVALID_ARGUMENT. A loader that is not moved
    /// is not compared: its batches are at another place. With NULL the caller is responsible for
    /// the order.
    ///
    /// In a group of processes the call is collective, and the path names the same file in all.
    /// Each process reads the parameters, the optimizer state of its own devices, and a part of the
    /// data for the checksum. An error of one process is returned in all, and nothing changes.
    ///
    /// Errors: NOT_FOUND (no such file), IO, CORRUPT (its format, or the checksum of its data),
    /// OUT_OF_MEMORY, BUSY, COMM, DETACHED. MISMATCH: the message names the first difference, or
    /// the rank with another file. One thread per trainer at a time.
    pub fn troika_trainer_load(
        trainer: troika_trainer,
        path: *const c_char,
        out_position: *mut troika_loader_position,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns the single-device model, which shares the trained parameters: another hold on the
    /// model that was attached. It can be used on any device: saved, printed, asked to predict, or
    /// attached again. The trainer stays usable.
    ///
    /// Owned: destroy \*`out_model` with [`troika_model_destroy`](crate::troika_model_destroy).
    /// Errors: OUT_OF_MEMORY, BUSY, DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_unwrap(
        trainer: troika_trainer,
        out_model: *mut troika_model,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_MEMORY_INFO_INIT` does. Any thread.
    pub fn troika_memory_info_init(info: *mut troika_memory_info, struct_size: u32);

    /// Returns the memory of replica replica (0 . . n-1). Errors: NOT_FOUND (no such replica),
    /// BUSY. One thread per trainer at a time.
    pub fn troika_trainer_memory(
        trainer: troika_trainer,
        replica: i32,
        out_info: *mut troika_memory_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the plan for a training batch of batch samples as text: every launch of each replica,
    /// with its kernel, layouts and place in the arena. After the launches, a line per recording
    /// says how a GPU repeats them faster. Compiles the plan if it does not exist yet. The rules
    /// for the buffer are those of [`troika_model_print`](crate::troika_model_print). Returns
    /// STOPPED, with nothing written, if a stop is requested while the plan is compiled.
    ///
    /// In a group the processes agree on the layouts of parameters with the first batch: before
    /// that, NOT_INITIALIZED.
    ///
    /// Errors: INVALID_ARGUMENT (a batch below 1 or one that no step would take, a capacity below
    /// 0), OUT_OF_MEMORY, UNSUPPORTED (an op that a device has no kernel for), BUSY, COMM,
    /// DETACHED. One thread per trainer at a time.
    pub fn troika_trainer_explain(
        trainer: troika_trainer,
        batch: i64,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the trace of the last step, one line per event: "replica `begin_us` `end_us` name",
    /// in microseconds and their tenths since the begin of the first event. Needs `collect_trace`.
    /// The rules for the buffer are those of [`troika_model_print`](crate::troika_model_print).
    ///
    /// Times on a GPU are its own, taken by events around each launch; a replica's launches run one
    /// after another. A wait for other ranks is the time in which the launches wait for them. Times
    /// of different replicas may be shifted by as long as the host needs to notice the end of a
    /// step.
    ///
    /// Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (a capacity below 0), BUSY. One
    /// thread per trainer at a time.
    pub fn troika_trainer_trace(
        trainer: troika_trainer,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the trace of the last step as JSON in the Trace Event Format, which ui.perfetto.dev
    /// and chrome://tracing show: every launch, collective and message of all ranks. Needs
    /// `collect_trace`. The file appears whole or not at all.
    ///
    /// A process of the file is a process of the group. It has two kinds of tracks:
    ///
    /// - "rank 3, cpu:1": the launches of a rank, its messages, and the starts of collectives and
    ///   the waits for them, one after another;
    /// - "rank 3, exchange": collectives, from the start until the result is there. Further tracks
    ///   hold those that overlap. On GPUs a collective lasts until the end of its wait.
    ///
    /// Times are in microseconds since the begin of the first event. Arrows connect the two ends of
    /// a message. args has the kind of an event, and its kernel, operations and bytes if they are
    /// known: of a launch, the bytes that it reads and writes. The times of launches are those of
    /// [`troika_trainer_trace`](crate::troika_trainer_trace). Names and args may change in later
    /// versions.
    ///
    /// With a group the call is collective, each process with a file; rank 0 writes its file, and
    /// an error reaches all. Processes of one machine have one clock. The clocks of other machines
    /// are compared by messages: otherData of the file has `clock_error_us`, by process, the most
    /// that times may be wrong.
    ///
    /// Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (file is NULL), IO, OUT_OF_MEMORY,
    /// BUSY, COMM. One thread per trainer at a time.
    pub fn troika_trainer_save_trace(
        trainer: troika_trainer,
        file: *const c_char,
        error: *mut troika_error,
    ) -> troika_status;
}
