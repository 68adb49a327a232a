// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Begins troika_trainer_step on a batch, and returns at once. Steps of one
        /// trainer run one after another, in the order of the calls. At most 64 may be waiting.
        /// Other calls of the trainer get BUSY until they have ended, except
        /// troika_trainer_request_stop and troika_trainer_clear_stop. If a stop is requested, the
        /// next step and all that wait then end with STOPPED, and train nothing. In a group only
        /// the next step ends so, in every process.</summary>
        /// <remarks>
        /// <para>The library keeps batch alive, and the caller may destroy it. done, if not NULL,
        /// is called with user when the step has ended, whatever its status. *out_pending, if not
        /// NULL, receives the step. Destroying the trainer does not wait for the steps, nor for
        /// done.</para>
        /// <para>Owned: destroy *out_pending with troika_pending_destroy. Errors: INVALID_ARGUMENT
        /// (a loader's batch that its loader moved past), BUSY (another call, or 64 steps are
        /// waiting), OUT_OF_MEMORY. An error of the step itself is the step's status. One thread
        /// per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_step_async(
            TrainerHandle trainer, BatchHandle batch, IntPtr done, IntPtr user,
            out PendingHandle out_pending, out troika_error error);

        /// <summary>Returns 1 in *out_is_done if the step has ended, else 0. Never waits. Any
        /// thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_pending_poll(
            PendingHandle pending, out int out_is_done, out troika_error error);

        /// <summary>Waits at most timeout_ms milliseconds for the end of the step, or without end
        /// if it is below 0. Returns what troika_trainer_step would have returned, with its result
        /// and its message. If the step has not ended by then, returns BUSY. out_result may be
        /// NULL.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_trainer_step; BUSY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_pending_wait(
            PendingHandle pending, long timeout_ms, troika_step_result* out_result,
            out troika_error error);

        /// <summary>Gives up the caller's hold on a pending step, which goes on. NULL is ignored.
        /// Never fails. Any thread, but not while another is inside a call with the same
        /// handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_pending_destroy(IntPtr pending);
    }
}
