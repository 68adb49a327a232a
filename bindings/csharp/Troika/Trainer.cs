using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Troika.Native;

namespace Troika
{
    /// <summary>A model on a list of devices, with its loss, optimizer and schedule. It takes one
    /// call at a time, from any thread; a second call gets Busy, also from its own progress
    /// handler. <see cref="RequestStop"/> and <see cref="ClearStop"/> may be called at any time.
    /// Detached and Comm are permanent.</summary>
    public sealed partial class Trainer : TroikaObject
    {
        private readonly Group group;
        private ProgressHandler handler;
        private bool isReporting;
        private readonly object steps = new object();
        private Task lastStep = Task.FromResult(true);

        internal Trainer(TrainerHandle handle, Model model, Group group) : base(handle, model.Context)
        {
            Model = model;
            this.group = group;
        }

        /// <summary>The model that was attached.</summary>
        public Model Model { get; }

        /// <summary>Mesh, steps done, learning rate and loss scale.</summary>
        public unsafe TrainerInfo Info
        {
            get
            {
                troika_trainer_info info = troika_trainer_info.Default();
                Check(NativeMethods.troika_trainer_describe(Handle, &info, out troika_error error), ref error);
                return new TrainerInfo(&info);
            }
        }

        /// <summary>The devices, in the order of replicas.</summary>
        public IReadOnlyList<Device> Devices
        {
            get
            {
                var devices = new Device[Info.DeviceCount];
                Status status = NativeMethods.troika_trainer_get_devices(
                    Handle, devices, devices.Length, out int count, out troika_error error);
                Check(status, ref error);
                return devices;
            }
        }

        /// <summary>The options that the trainer uses: those of the attachment, with the values of
        /// fields that were not set. Another model can be attached with them.</summary>
        public unsafe TrainerOptions Options
        {
            get
            {
                using (var scope = new NativeScope())
                {
                    // Texts and lists are the trainer's.
                    scope.Hold(this);
                    troika_trainer_options raw = troika_trainer_options.Default();
                    Check(NativeMethods.troika_trainer_get_options(Handle, &raw, out troika_error error), ref error);
                    return new TrainerOptions(&raw) { Group = group };
                }
            }
        }

        internal TrainerHandle Handle => (TrainerHandle)Live;

        /// <summary>Trains on one batch: forward, loss, backward, sum of gradients, update. The
        /// status of the result is StepSkipped if a gradient was not finite, and Stopped after
        /// <see cref="RequestStop"/>.</summary>
        /// <exception cref="TroikaException">InvalidArgument: the inputs or targets do not fit.
        /// OutOfMemory: a smaller batch may fit.</exception>
        public unsafe StepResult Step(Batch batch)
        {
            BatchHandle of = Argument.NotNull(batch, "Trainer.Step: batch").Handle;
            troika_step_result result = troika_step_result.Default();
            Status status = NativeMethods.troika_trainer_step(Handle, of, &result, out troika_error error);
            Check(status, ref error);
            return new StepResult(&result) { Status = status };
        }

        /// <summary>Starts <see cref="Step"/>, and returns at once. Steps run one after another; at
        /// most 64 may be waiting. Other calls of the trainer get Busy until they have ended. The
        /// batch may be closed, and its loader may move on. A failed step fails the task.</summary>
        /// <exception cref="TroikaException">Busy: another call, or 64 steps.</exception>
        public Task<StepResult> StepAsync(Batch batch)
        {
            Pending pending = StartStep(batch);
            // Steps end in the order of their calls, so one thread of the pool waits for all.
            lock (steps)
            {
                Task<StepResult> step = lastStep.ContinueWith(
                    _ =>
                    {
                        using (pending)
                            return pending.Wait();
                    },
                    CancellationToken.None, TaskContinuationOptions.DenyChildAttach, TaskScheduler.Default);
                lastStep = step;
                return step;
            }
        }

        /// <summary>Starts <see cref="Step"/> as <see cref="StepAsync"/> does, for a host that
        /// polls or waits.</summary>
        public Pending StartStep(Batch batch)
        {
            BatchHandle of = Argument.NotNull(batch, "Trainer.StartStep: batch").Handle;
            Status status = NativeMethods.troika_trainer_step_async(
                Handle, of, IntPtr.Zero, IntPtr.Zero, out PendingHandle pending, out troika_error error);
            Check(status, ref error);
            return new Pending(pending, Context);
        }

        /// <summary>Receives the progress of every run of this trainer; null: nobody
        /// does.</summary>
        public void SetProgress(ProgressHandler handler)
        {
            ReportProgress(handler != null);
            this.handler = handler;
        }

        /// <summary>Trains on the batches that the loader's epoch still has. The status of the
        /// metrics is Stopped after <see cref="RequestStop"/>, or if a handler stopped the
        /// run.</summary>
        /// <exception cref="RunCanceledException">The token ended the run, between two
        /// batches.</exception>
        public unsafe Metrics TrainEpoch(
            Loader loader, IProgress<Progress> progress = null, CancellationToken token = default(CancellationToken)) =>
            RunMetrics(loader, progress, token, NativeMethods.troika_trainer_train_epoch);

        /// <summary>Trains on at most <paramref name="count"/> batches. The status of the metrics
        /// is EndOfData if the epoch has ended.</summary>
        /// <exception cref="RunCanceledException">The token ended the run, between two
        /// batches.</exception>
        public unsafe Metrics TrainBatches(
            Loader loader, long count, IProgress<Progress> progress = null, CancellationToken token = default(CancellationToken)) =>
            RunMetrics(loader, progress, token,
                (TrainerHandle handle, LoaderHandle batches, troika_metrics* sums, out troika_error error) =>
                    NativeMethods.troika_trainer_train_batches(handle, batches, count, sums, out error));

        /// <summary>Evaluates an epoch of the loader, from its first batch, on all devices. The
        /// result is exact for any number of samples.</summary>
        /// <exception cref="RunCanceledException">The token ended the run, between two
        /// batches.</exception>
        public unsafe Metrics Evaluate(
            Loader loader, IProgress<Progress> progress = null, CancellationToken token = default(CancellationToken)) =>
            RunMetrics(loader, progress, token, NativeMethods.troika_trainer_evaluate);

        /// <summary>Evaluates as <see cref="Evaluate"/> does, on only one attached
        /// device.</summary>
        /// <exception cref="TroikaException">NotOnDevice: the model is not attached to
        /// it.</exception>
        public unsafe Metrics EvaluateOn(
            Device device, Loader loader, IProgress<Progress> progress = null,
            CancellationToken token = default(CancellationToken)) =>
            RunMetrics(loader, progress, token,
                (TrainerHandle handle, LoaderHandle batches, troika_metrics* sums, out troika_error error) =>
                    NativeMethods.troika_trainer_evaluate_on(handle, device, batches, sums, out error));

        /// <summary>Runs <see cref="TrainEpoch"/> on a worker thread.</summary>
        public Task<Metrics> TrainEpochAsync(
            Loader loader, IProgress<Progress> progress = null, CancellationToken token = default(CancellationToken)) =>
            RunAsync(() => TrainEpoch(loader, progress, token), token);

        /// <summary>Runs <see cref="TrainBatches"/> on a worker thread.</summary>
        public Task<Metrics> TrainBatchesAsync(
            Loader loader, long count, IProgress<Progress> progress = null, CancellationToken token = default(CancellationToken)) =>
            RunAsync(() => TrainBatches(loader, count, progress, token), token);

        /// <summary>Runs <see cref="Evaluate"/> on a worker thread.</summary>
        public Task<Metrics> EvaluateAsync(
            Loader loader, IProgress<Progress> progress = null, CancellationToken token = default(CancellationToken)) =>
            RunAsync(() => Evaluate(loader, progress, token), token);

        /// <summary>Evaluates one batch: loss, samples, labels, correct and seconds of the
        /// result.</summary>
        public unsafe StepResult EvaluateBatch(Batch batch)
        {
            BatchHandle of = Argument.NotNull(batch, "Trainer.EvaluateBatch: batch").Handle;
            troika_step_result result = troika_step_result.Default();
            Status status = NativeMethods.troika_trainer_evaluate_batch(Handle, of, &result, out troika_error error);
            Check(status, ref error);
            return new StepResult(&result) { Status = status };
        }

        /// <summary>Predicts an epoch of the loader, from its first batch, on all devices, into an
        /// array f32 [samples, ...]. Returns the number of samples, and Ok or Stopped.</summary>
        /// <exception cref="RunCanceledException">The token ended the run, between two
        /// batches.</exception>
        public unsafe (long Samples, Status Status) PredictLoader(
            Loader loader, float[] output, IProgress<Progress> progress = null,
            CancellationToken token = default(CancellationToken))
        {
            fixed (float* to = Argument.NotNull(output, "Trainer.PredictLoader: output"))
                return PredictLoader(loader, to, output.LongLength, progress, token);
        }

        /// <summary>Predicts one batch into an array f32 [samples, ...]. Targets are not
        /// read.</summary>
        public unsafe void PredictBatch(Batch batch, float[] output)
        {
            fixed (float* to = Argument.NotNull(output, "Trainer.PredictBatch: output"))
                PredictBatch(batch, to, output.LongLength);
        }

        /// <summary>Predicts one batch, and returns f32 [samples, ...].</summary>
        public float[] PredictBatch(Batch batch)
        {
            long n = Argument.NotNull(batch, "Trainer.PredictBatch: batch").Info.N;
            var output = new float[n * Elements.Count(Model.Info.OutputDims, "Trainer.PredictBatch: dims")];
            PredictBatch(batch, output);
            return output;
        }

#if SPAN
        /// <summary>Predicts an epoch of the loader as the other overload does, into a
        /// span.</summary>
        public unsafe (long Samples, Status Status) PredictLoader(
            Loader loader, Span<float> output, IProgress<Progress> progress = null,
            CancellationToken token = default(CancellationToken))
        {
            fixed (byte* to = &SpanBytes.Of((ReadOnlySpan<float>)output))
                return PredictLoader(loader, (float*)to, output.Length, progress, token);
        }

        /// <summary>Predicts one batch into a span f32 [samples, ...]. Targets are not
        /// read.</summary>
        public unsafe void PredictBatch(Batch batch, Span<float> output)
        {
            fixed (byte* to = &SpanBytes.Of((ReadOnlySpan<float>)output))
                PredictBatch(batch, (float*)to, output.Length);
        }
#endif

        /// <summary>Runs the network in evaluation mode on all devices. The output is a new tensor
        /// f32 [batch, ...] on the first device.</summary>
        public Tensor Predict(Tensor input)
        {
            TensorHandle from = Argument.NotNull(input, "Trainer.Predict: input").Handle;
            Status status = NativeMethods.troika_trainer_predict(
                Handle, from, out TensorHandle output, out troika_error error);
            Check(status, ref error);
            return new Tensor(output, Context);
        }

        /// <summary>Lets the loader read only those samples of each batch that this process's
        /// devices need, for calls that take a batch.</summary>
        public void DivideLoader(Loader loader)
        {
            LoaderHandle of = Argument.NotNull(loader, "Trainer.DivideLoader: loader").Handle;
            Check(NativeMethods.troika_trainer_divide_loader(Handle, of, out troika_error error), ref error);
        }

        /// <summary>Asks for a stop: the run in progress ends between two batches with Stopped, or
        /// else the next step or run does. Any thread, at any time.</summary>
        public void RequestStop() =>
            TroikaException.ThrowIfFailed(NativeMethods.troika_trainer_request_stop(Handle, out troika_error error), ref error);

        /// <summary>Takes back a stop that no call has returned yet. Any thread, at any
        /// time.</summary>
        public void ClearStop() =>
            TroikaException.ThrowIfFailed(NativeMethods.troika_trainer_clear_stop(Handle, out troika_error error), ref error);

        private unsafe delegate Status MetricsFunction(
            TrainerHandle trainer, LoaderHandle loader, troika_metrics* metrics, out troika_error error);

        private static Task<Metrics> RunAsync(Func<Metrics> run, CancellationToken token) =>
            Task.Factory.StartNew(
                run, token, TaskCreationOptions.DenyChildAttach | TaskCreationOptions.LongRunning, TaskScheduler.Default);

        private void ReportProgress(bool isWanted)
        {
            IntPtr function = isWanted ? Callbacks.Progress : IntPtr.Zero;
            Status status = NativeMethods.troika_trainer_set_progress(
                Handle, function, IntPtr.Zero, IntPtr.Zero, out troika_error error);
            Check(status, ref error);
            isReporting = isWanted;
        }

        private Run Begin(IProgress<Progress> progress, CancellationToken token)
        {
            if (progress != null && !isReporting)
                ReportProgress(true);
            return new Run(this, handler, progress, token);
        }

        private unsafe Metrics RunMetrics(
            Loader loader, IProgress<Progress> progress, CancellationToken token, MetricsFunction function)
        {
            LoaderHandle of = Argument.NotNull(loader, "Trainer: loader").Handle;
            using (Run run = Begin(progress, token))
            {
                troika_metrics raw = troika_metrics.Default();
                Status status = function(Handle, of, &raw, out troika_error error);
                run.End(status);
                loader.ThrowSourceFailure(status, ref error);
                Check(status, ref error);
                var metrics = new Metrics(&raw) { Status = status };
                if (run.IsCanceled(status))
                    throw new RunCanceledException(metrics, metrics.Samples, token);
                return metrics;
            }
        }

        private unsafe (long Samples, Status Status) PredictLoader(
            Loader loader, float* output, long elements, IProgress<Progress> progress, CancellationToken token)
        {
            LoaderHandle of = Argument.NotNull(loader, "Trainer.PredictLoader: loader").Handle;
            using (Run run = Begin(progress, token))
            {
                Status status = NativeMethods.troika_trainer_predict_loader(
                    Handle, of, output, elements * sizeof(float), out long samples, out troika_error error);
                run.End(status);
                loader.ThrowSourceFailure(status, ref error);
                Check(status, ref error);
                if (run.IsCanceled(status))
                    throw new RunCanceledException(null, samples, token);
                return (samples, status);
            }
        }

        private unsafe void PredictBatch(Batch batch, float* output, long elements)
        {
            BatchHandle of = Argument.NotNull(batch, "Trainer.PredictBatch: batch").Handle;
            Status status = NativeMethods.troika_trainer_predict_batch(
                Handle, of, output, elements * sizeof(float), out troika_error error);
            Check(status, ref error);
        }
    }
}
