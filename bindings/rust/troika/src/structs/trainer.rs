// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// Memory of one replica in bytes. Filled by [`Trainer::memory`](crate::Trainer::memory).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryInfo {
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

impl Struct for MemoryInfo {
    type Raw = sys::troika_memory_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_memory_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            plans: raw.plans,
            arena_bytes: raw.arena_bytes,
            parameter_bytes: raw.parameter_bytes,
            gradient_bytes: raw.gradient_bytes,
            optimizer_bytes: raw.optimizer_bytes,
            sample_bytes: raw.sample_bytes,
        })
    }
}

/// Sums over many batches. Filled by calls that train on or evaluate the batches of a loader.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// `Ok`, `EndOfData` or `Stopped`. After `Stopped` the other fields count the batches so far.
    pub status: Status,
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
    /// Steps that were skipped ([`Status::StepSkipped`](crate::Status::StepSkipped)); 0 of an
    /// evaluation.
    pub skipped_steps: i64,
}

impl Struct for Metrics {
    type Raw = sys::troika_metrics;

    fn init() -> Self::Raw {
        initialized(sys::troika_metrics_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            status: Status::Ok,
            loss: raw.loss,
            accuracy: raw.accuracy,
            samples: raw.samples,
            correct: raw.correct,
            seconds: raw.seconds,
            labels: raw.labels,
            skipped_steps: raw.skipped_steps,
        })
    }
}

/// The progress after a batch, as a progress callback receives it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Batches of this epoch that are done.
    pub batch: i64,
    /// Batches in the epoch; see [`LoaderPosition`](crate::LoaderPosition) for streams.
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
    /// `true` while training, `false` while evaluating or predicting.
    pub training: bool,
    /// `true`: this batch's step was skipped ([`Status::StepSkipped`](crate::Status::StepSkipped)).
    /// If the loss of the batch is then not finite, the sums over this call leave the batch out.
    pub skipped: bool,
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

impl Struct for Progress {
    type Raw = sys::troika_progress;

    fn init() -> Self::Raw {
        zeroed()
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            batch: raw.batch,
            batches: raw.batches,
            epoch: raw.epoch,
            samples: raw.samples,
            correct: raw.correct,
            loss: raw.loss,
            seconds: raw.seconds,
            training: raw.training != 0,
            skipped: raw.skipped != 0,
            batch_loss: raw.batch_loss,
            batch_samples: raw.batch_samples,
            batch_correct: raw.batch_correct,
            learning_rate: raw.learning_rate,
            labels: raw.labels,
            batch_labels: raw.batch_labels,
            wait_seconds: raw.wait_seconds,
        })
    }
}

/// How a training state is saved. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct SaveOptions {
    /// 0 (default): writes the file at path. K above 0: puts the step before the extension, as in
    /// state-000000001200.safetensors for the path state.safetensors, and removes all but the
    /// newest K of these files. At most 65536.
    pub keep: i32,
    /// `true`: the call returns when the state has been copied to host memory. A thread of the
    /// library writes the file. Default `false`.
    pub in_background: bool,
}

impl Struct for SaveOptions {
    type Raw = sys::troika_save_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_save_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self { keep: raw.keep, in_background: raw.in_background != 0 })
    }
}

impl Input for SaveOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.keep = self.keep;
        raw.in_background = i32::from(self.in_background);
        Ok(raw)
    }
}

impl Default for SaveOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// The result of a step. Filled by [`Trainer::step`](crate::Trainer::step).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepResult {
    /// `Ok`, `StepSkipped` or `Stopped`. After `Stopped` the other fields are 0.
    pub status: Status,
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

impl Struct for StepResult {
    type Raw = sys::troika_step_result;

    fn init() -> Self::Raw {
        initialized(sys::troika_step_result_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            status: Status::Ok,
            loss: raw.loss,
            samples: raw.samples,
            correct: raw.correct,
            step: raw.step,
            learning_rate: raw.learning_rate,
            seconds: raw.seconds,
            loss_scale: raw.loss_scale,
            gradient_norm: raw.gradient_norm,
            labels: raw.labels,
        })
    }
}
