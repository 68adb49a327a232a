using System;
using Troika.Native;

namespace Troika
{
    /// <summary>A step that was started and may not have ended. Closing it does not end the step.
    /// Any thread, at any time.</summary>
    public sealed class Pending : TroikaObject
    {
        internal Pending(PendingHandle handle, Context context) : base(handle, context)
        {
        }

        /// <summary>Whether the step has ended. Never waits.</summary>
        public bool IsDone
        {
            get
            {
                Check(NativeMethods.troika_pending_poll(Handle, out int isDone, out troika_error error), ref error);
                return isDone == 1;
            }
        }

        private PendingHandle Handle => (PendingHandle)Live;

        /// <summary>Waits for the end of the step, and returns its result.</summary>
        /// <exception cref="TroikaException">The step failed.</exception>
        public StepResult Wait()
        {
            TryWait(-1, out StepResult result);
            return result;
        }

        /// <summary>Waits at most this long for the end of the step. Returns whether it has
        /// ended.</summary>
        /// <exception cref="TroikaException">The step failed.</exception>
        public bool TryWait(TimeSpan timeout, out StepResult result) =>
            TryWait(Math.Max((long)timeout.TotalMilliseconds, 0), out result);

        private unsafe bool TryWait(long milliseconds, out StepResult result)
        {
            result = null;
            troika_step_result raw = troika_step_result.Default();
            Status status = NativeMethods.troika_pending_wait(Handle, milliseconds, &raw, out troika_error error);
            if (status == Status.Busy && !IsDone)
                return false;
            Check(status, ref error);
            result = new StepResult(&raw) { Status = status };
            return true;
        }
    }
}
