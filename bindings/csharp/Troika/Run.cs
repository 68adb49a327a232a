using System;
using System.Runtime.ExceptionServices;
using System.Threading;
using Troika.Native;

namespace Troika
{
    /// <summary>Receives the progress after each batch, on the thread that trains or evaluates.
    /// Returns true to stop the run. It must not call the trainer, except
    /// <see cref="Trainer.RequestStop"/>. An exception ends the run, and comes back as it was
    /// thrown.</summary>
    public delegate bool ProgressHandler(Progress progress);

    /// <summary>One call that trains on, evaluates or predicts the batches of a loader: who wants
    /// to know its progress, and who may cancel it.</summary>
    internal sealed class Run : IDisposable
    {
        // The library reports progress on the thread of the call. A handler may begin another run.
        [ThreadStatic]
        private static Run current;

        private readonly Run outer;
        private readonly Trainer trainer;
        private readonly ProgressHandler handler;
        private readonly IProgress<Progress> progress;
        private readonly CancellationToken token;
        private readonly CancellationTokenRegistration registration;
        private ExceptionDispatchInfo failure;
        private volatile bool isStopRequested;

        internal Run(Trainer trainer, ProgressHandler handler, IProgress<Progress> progress, CancellationToken token)
        {
            token.ThrowIfCancellationRequested();
            this.trainer = trainer;
            this.handler = handler;
            this.progress = progress;
            this.token = token;
            outer = current;
            current = this;
            registration = token.Register(Stop);
        }

        /// <summary>Whether the token ended the run, which had this status.</summary>
        internal bool IsCanceled(Status status) => status == Status.Stopped && token.IsCancellationRequested;

        /// <summary>Reports the progress of this thread's run. Returns whether to stop.</summary>
        internal static unsafe bool Report(troika_progress* raw)
        {
            Run run = current;
            if (run == null)
                return false;
            try
            {
                var report = new Progress(raw);
                run.progress?.Report(report);
                return run.handler != null && run.handler(report);
            }
            catch (Exception thrown)
            {
                run.failure = ExceptionDispatchInfo.Capture(thrown);
                return true;
            }
        }

        /// <summary>Ends the run. A stop that no call has returned is taken back, so that the
        /// trainer is usable. Throws what a handler threw.</summary>
        internal void End(Status status)
        {
            // Waits until a stop that is being requested has been.
            registration.Dispose();
            if (isStopRequested && status != Status.Stopped)
                trainer.ClearStop();
            failure?.Throw();
        }

        public void Dispose()
        {
            registration.Dispose();
            current = outer;
        }

        private void Stop()
        {
            try
            {
                trainer.RequestStop();
                isStopRequested = true;
            }
            catch (ObjectDisposedException)
            {
                // Another thread has closed the trainer: the run ends without a stop.
            }
        }
    }
}
