//! Trainers.

use crate::call::{
    call, call_for_handle, create, describe, metrics, step_result, text, text_unless_stopped,
    value, Handle,
};
use crate::convert::{bytes_of, c_path, c_text, count, Input, Number, Struct};
use crate::{
    panics, Batch, Device, Element, Error, ForwardOptions, Group, Loader, LoaderPosition,
    MemoryInfo, Metrics, Model, Pending, Progress, Result, SaveOptions, Setting, Status,
    StepResult, Tensor, TrainerInfo, TrainerOptions,
};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::os::raw::c_void;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Weak};
use troika_sys as sys;

/// A model on devices, with its loss, optimizer and schedule.
///
/// A trainer may be sent to another thread. It takes one call at a time, which Rust checks; while
/// steps of [`Trainer::step_async`] run, other calls return [`Busy`](Status::Busy).
///
/// Two errors are permanent: [`Detached`](Status::Detached), after the model was attached again,
/// and [`Comm`](Status::Comm), if a step failed half way.
#[derive(Debug)]
pub struct Trainer {
    handle: Arc<Handle<sys::troika_trainer_s>>,
    group: Option<Group>,
    /// Not `Sync`: a trainer takes one call at a time.
    one_thread: PhantomData<Cell<()>>,
}

/// Samples that [`Trainer::predict_loader`] has predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Predicted {
    /// `Ok` or `Stopped`.
    pub status: Status,
    /// Samples whose outputs are there.
    pub samples: i64,
}

/// Asks a trainer to stop, from any thread at any time. A clone is the same handle.
///
/// Training or evaluation that is in progress ends between two batches, with the status `Stopped`.
/// If neither is in progress, the next step, training or evaluation does. The trainer is usable
/// afterwards.
///
/// ```
/// use troika::{Context, Dataset, Device, Loader, LoaderOptions, Model, Status};
///
/// let context = Context::new(&Default::default())?;
/// let dataset = Dataset::create_synthetic(&context, &[1, 28, 28], 64, 10, 0)?;
/// let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 8, ..Default::default() })?;
/// let mut model = Model::new(&context, "mlp", &Default::default())?;
/// let mut trainer = model.attach(&[Device::cpu(0)], &Default::default())?;
/// let stop = trainer.stop_handle();
/// std::thread::spawn(move || stop.request_stop()).join().unwrap()?;
/// assert_eq!(trainer.train_epoch(&mut loader)?.status, Status::Stopped);
/// assert_eq!(trainer.train_epoch(&mut loader)?.samples, 64);
/// # Ok::<(), troika::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StopHandle(Weak<Handle<sys::troika_trainer_s>>);

impl StopHandle {
    /// Asks for a stop. It holds until a call returns `Stopped`, or until it is taken back.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument) if the trainer was dropped.
    pub fn request_stop(&self) -> Result<()> {
        request_stop(&*self.trainer()?)
    }

    /// Takes back a stop that no call has returned yet.
    ///
    /// # Errors
    /// Those of [`StopHandle::request_stop`].
    pub fn clear_stop(&self) -> Result<()> {
        clear_stop(&*self.trainer()?)
    }

    fn trainer(&self) -> Result<Arc<Handle<sys::troika_trainer_s>>> {
        self.0.upgrade().ok_or_else(|| {
            Error::invalid("stop handle: its trainer was dropped, needs a trainer".into())
        })
    }
}

fn request_stop(trainer: &Handle<sys::troika_trainer_s>) -> Result<()> {
    call(|error| unsafe { sys::troika_trainer_request_stop(trainer.raw(), error) }).map(drop)
}

fn clear_stop(trainer: &Handle<sys::troika_trainer_s>) -> Result<()> {
    call(|error| unsafe { sys::troika_trainer_clear_stop(trainer.raw(), error) }).map(drop)
}

impl Trainer {
    pub(crate) fn of_library(handle: Handle<sys::troika_trainer_s>, group: Option<Group>) -> Self {
        Self { handle: Arc::new(handle), group, one_thread: PhantomData }
    }

    fn raw(&self) -> sys::troika_trainer {
        self.handle.raw()
    }

    /// Returns the single-device model, which shares the trained parameters. The trainer stays
    /// usable.
    ///
    /// # Errors
    /// [`Busy`](Status::Busy), [`Detached`](Status::Detached).
    pub fn unwrap(&self) -> Result<Model> {
        create(|out, error| unsafe { sys::troika_trainer_unwrap(self.raw(), out, error) })
            .map(Model::of_library)
    }

    /// Returns a handle that asks for a stop from any thread. It does not keep the trainer alive.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(Arc::downgrade(&self.handle))
    }

    /// Asks for a stop, as [`StopHandle::request_stop`] does.
    pub fn request_stop(&self) -> Result<()> {
        request_stop(&self.handle)
    }

    /// Takes back a stop that no call has returned yet.
    pub fn clear_stop(&self) -> Result<()> {
        clear_stop(&self.handle)
    }
}

/// # Training
///
/// Calls that read a loader also return [`Callback`](Status::Callback) if the dataset's source
/// failed. Their metrics have the status `Stopped` after [`Trainer::request_stop`], if the progress
/// closure breaks, or if the source stops.
impl Trainer {
    /// Trains on one batch. The status of the result is `StepSkipped` if a gradient was not finite
    /// and loss scaling or `skip_not_finite` is on. It is `Stopped`, with nothing done, after a
    /// request.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a batch that does not fit, with nothing
    /// changed. [`OutOfMemory`](Status::OutOfMemory): the trainer stays usable with a smaller
    /// batch. [`Unsupported`](Status::Unsupported), [`Busy`](Status::Busy),
    /// [`Comm`](Status::Comm), [`Detached`](Status::Detached).
    pub fn step(&mut self, batch: &Batch<'_>) -> Result<StepResult> {
        step_result(|out, error| unsafe {
            sys::troika_trainer_step(self.raw(), batch.raw(), out, error)
        })
    }

    /// Begins a step and returns at once. At most 64 may wait. The library keeps the batch alive,
    /// and copies one of a loader.
    ///
    /// # Errors
    /// [`Busy`](Status::Busy): another call, or 64 steps. The pending step has those of the step.
    pub fn step_async(&mut self, batch: &Batch<'_>) -> Result<Pending> {
        create(|out, error| unsafe {
            let (trainer, batch) = (self.raw(), batch.raw());
            sys::troika_trainer_step_async(trainer, batch, None, ptr::null_mut(), out, error)
        })
        .map(Pending::new)
    }

    /// Begins a step as [`Trainer::step_async`] does. `done` receives what [`Trainer::step`] would
    /// have returned, on a thread of the library. It must not wait for a step of this trainer. If
    /// it panics, [`Pending::wait`] resumes the panic.
    ///
    /// # Errors
    /// Those of [`Trainer::step_async`].
    pub fn step_async_with<F>(&mut self, batch: &Batch<'_>, done: F) -> Result<Pending>
    where
        F: FnOnce(Result<StepResult>) + Send + 'static,
    {
        Pending::begin(done, |function, user| {
            create(|out, error| unsafe {
                let (trainer, batch) = (self.raw(), batch.raw());
                sys::troika_trainer_step_async(trainer, batch, function, user, out, error)
            })
        })
    }

    /// Sets the closure that is called after each batch of calls that read a loader, on the thread
    /// of the call. `Break` stops the call. A panic stops it too, and the call resumes the panic.
    ///
    /// # Errors
    /// [`Busy`](Status::Busy).
    pub fn set_progress<F>(&mut self, progress: F) -> Result<()>
    where
        F: FnMut(&Progress) -> ControlFlow<()> + Send + 'static,
    {
        let user = Box::into_raw(Box::new(progress));
        let result = call(|error| unsafe {
            let destroy = Some(panics::destroy::<F> as _);
            let function = Some(report_progress::<F> as _);
            sys::troika_trainer_set_progress(self.raw(), function, user.cast(), destroy, error)
        });
        if result.is_err() {
            // Safety: the library did not take the closure.
            drop(unsafe { Box::from_raw(user) });
        }
        result.map(drop)
    }

    /// Removes the closure of [`Trainer::set_progress`], and drops it.
    ///
    /// # Errors
    /// [`Busy`](Status::Busy).
    pub fn clear_progress(&mut self) -> Result<()> {
        call(|error| unsafe {
            sys::troika_trainer_set_progress(self.raw(), None, ptr::null_mut(), None, error)
        })
        .map(drop)
    }

    /// Trains on the remaining batches of the loader's epoch, and leaves the loader at the start of
    /// the next one. After a stop the loader is at the batch after the last one that was trained
    /// on.
    ///
    /// # Errors
    /// Those of [`Trainer::step`], and [`Callback`](Status::Callback).
    pub fn train_epoch(&mut self, loader: &mut Loader) -> Result<Metrics> {
        loader.attributed(metrics(|out, error| unsafe {
            sys::troika_trainer_train_epoch(self.raw(), loader.raw(), out, error)
        }))
    }

    /// Trains on at most `batches` of the epoch's remaining batches. The status of the metrics is
    /// `EndOfData` if the call reached the end of the epoch.
    ///
    /// # Errors
    /// Those of [`Trainer::train_epoch`].
    pub fn train_batches(&mut self, loader: &mut Loader, batches: i64) -> Result<Metrics> {
        loader.attributed(metrics(|out, error| unsafe {
            sys::troika_trainer_train_batches(self.raw(), loader.raw(), batches, out, error)
        }))
    }

    /// Lets the loader read only the samples that this process's devices need, for calls that take
    /// a batch. Without a group it reads whole batches.
    ///
    /// # Errors
    /// [`Busy`](Status::Busy), [`OutOfMemory`](Status::OutOfMemory).
    pub fn divide_loader(&mut self, loader: &mut Loader) -> Result<()> {
        call(|error| unsafe { sys::troika_trainer_divide_loader(self.raw(), loader.raw(), error) })
            .map(drop)
    }

    /// Sets the base learning rate of the trainer, or of one of the options' groups. The schedule
    /// multiplies it.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a rate below 0, no such group.
    pub fn set_learning_rate(&mut self, group: Option<usize>, rate: f64) -> Result<()> {
        let group = group_index(group)?;
        call(|error| unsafe {
            sys::troika_trainer_set_learning_rate(self.raw(), group, rate, error)
        })
        .map(drop)
    }

    /// Returns the learning rate of the next step, with schedule and warm-up.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): no such group.
    pub fn get_learning_rate(&self, group: Option<usize>) -> Result<f64> {
        let group = group_index(group)?;
        value(0.0, |out, error| unsafe {
            sys::troika_trainer_get_learning_rate(self.raw(), group, out, error)
        })
    }

    /// Sets a setting of the trainer, or of one of the options' groups, from the next step on.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument), with nothing changed: no such group, a setting
    /// that the optimizer does not have, a value out of its range.
    pub fn set_option(&mut self, group: Option<usize>, option: Setting, value: f64) -> Result<()> {
        let (group, option) = (group_index(group)?, option.raw());
        call(|error| unsafe {
            sys::troika_trainer_set_option(self.raw(), group, option, value, error)
        })
        .map(drop)
    }

    /// Returns the value of a setting. A learning rate is the base rate, before the schedule.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): no such group, a setting that the optimizer
    /// does not have.
    pub fn get_option(&self, group: Option<usize>, option: Setting) -> Result<f64> {
        let (group, option) = (group_index(group)?, option.raw());
        value(0.0, |out, error| unsafe {
            sys::troika_trainer_get_option(self.raw(), group, option, out, error)
        })
    }

    /// Reports a metric to a trainer with the schedule
    /// [`Plateau`](crate::Schedule::Plateau), usually once per evaluation.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): another schedule, a metric that is NaN.
    pub fn report_metric(&mut self, metric: f64) -> Result<()> {
        call(|error| unsafe { sys::troika_trainer_report_metric(self.raw(), metric, error) })
            .map(drop)
    }
}

/// # A step in pieces
///
/// Forward, backward and apply compute what [`Trainer::step`] computes. A host calls them one by
/// one if it does something in between. Their errors are those of a step.
/// [`NotInitialized`](Status::NotInitialized): the piece before is missing.
impl Trainer {
    /// Runs the forward pass on a batch. The result has loss, samples, labels, correct and seconds.
    /// Its status is `Stopped`, with nothing done, after a request.
    pub fn forward(&mut self, batch: &Batch<'_>, options: &ForwardOptions) -> Result<StepResult> {
        options.pass(|options| {
            step_result(|out, error| unsafe {
                let (trainer, batch) = (self.raw(), batch.raw());
                sys::troika_trainer_forward(trainer, batch, options, ptr::null_mut(), out, error)
            })
        })
    }

    /// Runs the forward pass as [`Trainer::forward`] does. Also returns the output, f32 \[batch,
    /// the output's shape\], on the first device; None after a stop.
    pub fn forward_with_output(
        &mut self,
        batch: &Batch<'_>,
        options: &ForwardOptions,
    ) -> Result<(Option<Tensor>, StepResult)> {
        let mut raw = StepResult::init();
        let (output, status) = options.pass(|options| {
            call_for_handle(|out, error| unsafe {
                let (trainer, batch) = (self.raw(), batch.raw());
                sys::troika_trainer_forward(trainer, batch, options, out, &mut raw, error)
            })
        })?;
        let result = unsafe { StepResult::from_raw(&raw) }?;
        Ok((output.map(Tensor::of), StepResult { status, ..result }))
    }

    /// Runs the backward pass, and adds the gradients, summed over all devices, to those that are
    /// there. With `own_loss`, `output_gradient` is f32 \[batch, the output's shape\].
    pub fn backward(&mut self, output_gradient: Option<&Tensor>) -> Result<()> {
        let gradient = output_gradient.map_or(ptr::null_mut(), Tensor::raw);
        call(|error| unsafe { sys::troika_trainer_backward(self.raw(), gradient, error) }).map(drop)
    }

    /// Copies the gradient of the inputs into `data`, in the shape of the batch's inputs.
    pub fn get_input_gradient(&self, data: &mut [f32]) -> Result<()> {
        let size = bytes_of(data);
        call(|error| unsafe {
            sys::troika_trainer_get_input_gradient(self.raw(), data.as_mut_ptr(), size, error)
        })
        .map(drop)
    }

    /// Copies the gradient of a parameter into `data`: reduced over all devices, without loss scale
    /// and clipping.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound), [`NotInitialized`](Status::NotInitialized): a frozen
    /// parameter, a buffer, no step yet. [`InvalidArgument`](Status::InvalidArgument): the size.
    pub fn get_gradient(&self, name: &str, data: &mut [f32]) -> Result<()> {
        let (name, size) = (c_text(name, "name")?, bytes_of(data));
        call(|error| unsafe {
            let (name, data) = (name.as_ptr(), data.as_mut_ptr());
            sys::troika_trainer_get_gradient(self.raw(), name, data, size, error)
        })
        .map(drop)
    }

    /// Replaces the gradient of a parameter on all devices, until the next backward pass or apply.
    ///
    /// # Errors
    /// Those of [`Trainer::get_gradient`].
    pub fn set_gradient(&mut self, name: &str, data: &[f32]) -> Result<()> {
        let (name, size) = (c_text(name, "name")?, bytes_of(data));
        call(|error| unsafe {
            let (name, data) = (name.as_ptr(), data.as_ptr());
            sys::troika_trainer_set_gradient(self.raw(), name, data, size, error)
        })
        .map(drop)
    }

    /// Updates the parameters with the gradients that are there, and counts one step. The result
    /// has step, learning rate, loss scale and the norm of the gradient.
    pub fn apply(&mut self) -> Result<StepResult> {
        step_result(|out, error| unsafe { sys::troika_trainer_apply(self.raw(), out, error) })
    }
}

/// # Evaluating and predicting
impl Trainer {
    /// Evaluates an epoch of the loader, from its first batch, on all devices.
    ///
    /// # Errors
    /// Those of [`Trainer::train_epoch`].
    pub fn evaluate(&mut self, loader: &mut Loader) -> Result<Metrics> {
        loader.attributed(metrics(|out, error| unsafe {
            sys::troika_trainer_evaluate(self.raw(), loader.raw(), out, error)
        }))
    }

    /// Evaluates on only one of the devices.
    ///
    /// # Errors
    /// Those of [`Trainer::evaluate`]; [`NotOnDevice`](Status::NotOnDevice).
    pub fn evaluate_on(&mut self, device: Device, loader: &mut Loader) -> Result<Metrics> {
        loader.attributed(metrics(|out, error| unsafe {
            let (trainer, loader) = (self.raw(), loader.raw());
            sys::troika_trainer_evaluate_on(trainer, device.raw(), loader, out, error)
        }))
    }

    /// Evaluates one batch: loss, samples, labels, correct and seconds.
    ///
    /// # Errors
    /// Those of [`Trainer::step`].
    pub fn evaluate_batch(&mut self, batch: &Batch<'_>) -> Result<StepResult> {
        step_result(|out, error| unsafe {
            sys::troika_trainer_evaluate_batch(self.raw(), batch.raw(), out, error)
        })
    }

    /// Predicts an epoch of the loader, from its first batch, into `output`: f32 \[samples, the
    /// output's shape\], in the loader's order.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): `output` is too small.
    /// [`Callback`](Status::Callback), [`Busy`](Status::Busy), [`Comm`](Status::Comm).
    pub fn predict_loader(&mut self, loader: &mut Loader, output: &mut [f32]) -> Result<Predicted> {
        let mut samples = 0;
        let size = bytes_of(output);
        let status = loader.attributed(call(|error| unsafe {
            let (trainer, loader, output) = (self.raw(), loader.raw(), output.as_mut_ptr());
            sys::troika_trainer_predict_loader(trainer, loader, output, size, &mut samples, error)
        }))?;
        Ok(Predicted { status, samples })
    }

    /// Predicts one batch into `output`: f32 \[samples, the output's shape\].
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): the batch, or the size of `output`.
    pub fn predict_batch(&mut self, batch: &Batch<'_>, output: &mut [f32]) -> Result<()> {
        let size = bytes_of(output);
        call(|error| unsafe {
            let (batch, output) = (batch.raw(), output.as_mut_ptr());
            sys::troika_trainer_predict_batch(self.raw(), batch, output, size, error)
        })
        .map(drop)
    }

    /// Runs the network in evaluation mode on all devices. The output is on the first device.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): shape, type or a token.
    pub fn predict(&mut self, input: &Tensor) -> Result<Tensor> {
        let handle = create(|out, error| unsafe {
            sys::troika_trainer_predict(self.raw(), input.raw(), out, error)
        })?;
        Ok(Tensor::of(handle))
    }
}

/// # Files
impl Trainer {
    /// Writes a training state to one safetensors file, from which training resumes bit for bit.
    /// Whatever happens, the file is either the complete old one or the complete new one.
    ///
    /// # Errors
    /// [`Io`](Status::Io), [`OutOfMemory`](Status::OutOfMemory), [`Busy`](Status::Busy),
    /// [`Comm`](Status::Comm), [`Detached`](Status::Detached).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        call(|error| unsafe { sys::troika_trainer_save(self.raw(), path.as_ptr(), error) })
            .map(drop)
    }

    /// Writes a training state with options: in the background, or one of several files.
    ///
    /// # Errors
    /// Those of [`Trainer::save`], also those of the file before.
    pub fn save_with(&self, path: impl AsRef<Path>, options: &SaveOptions) -> Result<()> {
        let path = c_path(path.as_ref())?;
        options.pass(|options| {
            call(|error| unsafe {
                sys::troika_trainer_save_with(self.raw(), path.as_ptr(), options, error)
            })
            .map(drop)
        })
    }

    /// Waits until no file is written in the background, and returns the error of the last one.
    ///
    /// # Errors
    /// Those of [`Trainer::save`].
    pub fn wait_save(&self) -> Result<()> {
        call(|error| unsafe { sys::troika_trainer_wait_save(self.raw(), error) }).map(drop)
    }

    /// Writes a model file with the moving averages of the parameters.
    ///
    /// # Errors
    /// Those of [`Trainer::save`]; [`InvalidArgument`](Status::InvalidArgument): attached without
    /// `average_decay`.
    pub fn save_average(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        call(|error| unsafe { sys::troika_trainer_save_average(self.raw(), path.as_ptr(), error) })
            .map(drop)
    }

    /// Reads a training state, and returns the place in the epoch for [`Loader::seek`]. If the next
    /// batch of a loader that is moved there has other samples than the state's, a step refuses it.
    /// A loader that is not moved is not compared. A refused file changes nothing.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound), [`Io`](Status::Io), [`Corrupt`](Status::Corrupt),
    /// [`Mismatch`](Status::Mismatch), [`Busy`](Status::Busy), [`Detached`](Status::Detached).
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<LoaderPosition> {
        let path = c_path(path.as_ref())?;
        describe(|out, error| unsafe {
            sys::troika_trainer_load(self.raw(), path.as_ptr(), out, error)
        })
    }

    /// Reads a training state as [`Trainer::load`] does, and leaves the order of the next samples
    /// to the caller.
    ///
    /// # Errors
    /// Those of [`Trainer::load`].
    pub fn load_in_any_order(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        call(|error| unsafe {
            sys::troika_trainer_load(self.raw(), path.as_ptr(), ptr::null_mut(), error)
        })
        .map(drop)
    }

    /// Writes the trace of the last step as JSON in the Trace Event Format. Needs `collect_trace`.
    ///
    /// # Errors
    /// [`NotInitialized`](Status::NotInitialized) without a trace, [`Io`](Status::Io).
    pub fn save_trace(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        call(|error| unsafe { sys::troika_trainer_save_trace(self.raw(), path.as_ptr(), error) })
            .map(drop)
    }
}

/// # Descriptions
impl Trainer {
    /// Describes the trainer: devices, mesh, steps done, learning rate.
    pub fn describe(&self) -> Result<TrainerInfo> {
        describe(|out, error| unsafe { sys::troika_trainer_describe(self.raw(), out, error) })
    }

    /// Returns the devices, in the order of replicas.
    pub fn get_devices(&self) -> Result<Vec<Device>> {
        Device::read_list(|devices, capacity| {
            value(0, |out, error| unsafe {
                sys::troika_trainer_get_devices(self.raw(), devices, capacity, out, error)
            })
        })
    }

    /// Returns the options that the trainer was attached with. Fields that were None have the
    /// values that the trainer uses.
    pub fn get_options(&self) -> Result<TrainerOptions> {
        let options = describe(|out, error| unsafe {
            sys::troika_trainer_get_options(self.raw(), out, error)
        })?;
        Ok(TrainerOptions { group: self.group.clone(), ..options })
    }

    /// Returns the description as one JSON object: model, devices, mesh, step, options.
    pub fn to_json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::troika_trainer_to_json(self.raw(), buffer, capacity, size, error)
        })
    }

    /// Copies the parameter or buffer that the replica on `device` holds, row-major, into `data`:
    /// f32, or i64 for num_batches_tracked.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound), [`NotOnDevice`](Status::NotOnDevice),
    /// [`InvalidArgument`](Status::InvalidArgument) if `data` has another type or size.
    pub fn get_parameter<T: Element>(
        &self,
        name: &str,
        device: Device,
        data: &mut [T],
    ) -> Result<()> {
        self.unwrap()?.require::<T>(name)?;
        let (name, size) = (c_text(name, "name")?, bytes_of(data));
        call(|error| unsafe {
            let (name, data) = (name.as_ptr(), data.as_mut_ptr().cast());
            sys::troika_trainer_get_parameter(self.raw(), name, device.raw(), data, size, error)
        })
        .map(drop)
    }

    /// Compares parameters and optimizer state of all replicas bit by bit.
    ///
    /// # Errors
    /// [`Mismatch`](Status::Mismatch) names the parameter and the devices.
    pub fn check_replicas(&self) -> Result<()> {
        call(|error| unsafe { sys::troika_trainer_check_replicas(self.raw(), error) }).map(drop)
    }

    /// Returns the memory of a replica.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound): no such replica.
    pub fn memory(&self, replica: usize) -> Result<MemoryInfo> {
        let replica = count(replica, "replica")?;
        describe(|out, error| unsafe {
            sys::troika_trainer_memory(self.raw(), replica, out, error)
        })
    }

    /// Returns the plan of a training batch of `batch` samples as text: every launch of each
    /// replica. Compiles the plan if it does not exist yet; None if a stop was requested. May
    /// change in any version.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a batch that no step would take.
    pub fn explain(&mut self, batch: i64) -> Result<Option<String>> {
        text_unless_stopped(|buffer, capacity, size, error| unsafe {
            sys::troika_trainer_explain(self.raw(), batch, buffer, capacity, size, error)
        })
    }

    /// Returns the trace of the last step, one line per event: "replica begin_us end_us name".
    /// Needs `collect_trace`. May change in any version.
    ///
    /// # Errors
    /// [`NotInitialized`](Status::NotInitialized) without a trace.
    pub fn trace(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::troika_trainer_trace(self.raw(), buffer, capacity, size, error)
        })
    }
}

/// A group of the options as C counts it: -1 is the trainer itself.
fn group_index(group: Option<usize>) -> Result<i32> {
    group.map_or(Ok(-1), |group| count(group, "group"))
}

unsafe extern "C" fn report_progress<F: FnMut(&Progress) -> ControlFlow<()>>(
    progress: *const sys::troika_progress,
    user: *mut c_void,
) -> i32 {
    // Safety: `user` is the closure, which runs on the thread of the trainer's only call.
    let (progress, function) = unsafe { (Progress::from_raw(&*progress), &mut *user.cast::<F>()) };
    let progress = match progress {
        Ok(progress) => progress,
        Err(_) => return 0, // no field of it can be refused
    };
    let wish = panics::guard(|| function(&progress), std::mem::forget);
    i32::from(wish != Some(ControlFlow::Continue(())))
}
