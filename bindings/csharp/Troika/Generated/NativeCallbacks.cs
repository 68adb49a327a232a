// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>A log sink. topic is what the line is about: "backend", "comm", "plan", "memory" or
    /// "train". line is UTF-8 without a line break. Both are borrowed for the call. May be called
    /// from any thread of the library, one call at a time. It must not call the library.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal unsafe delegate void troika_log_function(
        int level, byte* topic, byte* line, IntPtr user);

    /// <summary>Reads samples of the host. Returns the number of samples that were written: n; a
    /// stream may return fewer at the end of the epoch, and 0 after it. Below 0 is a failure: error
    /// then holds the host's message, and its status is TROIKA_STOPPED to stop the call that waits
    /// for the samples, or else the call returns TROIKA_ERROR_CALLBACK with the message.</summary>
    /// <remarks>
    /// <para>An exception of C++ that leaves the callback is a failure with the exception's text.
    /// After a failure the loader is at the same batch, and asks again when the next call wants the
    /// batch.</para>
    /// <para>Called on a loader's own thread, or on the thread that uses a loader without prefetch.
    /// Several threads may call it at once if several loaders read the dataset. With prefetch it
    /// runs ahead, beyond the end of an epoch too. It must not call the library with the loader
    /// that waits for it, except troika_loader_destroy. Destroying a loader on another thread waits
    /// until the callback returns.</para>
    /// </remarks>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal unsafe delegate long troika_read_function(
        troika_read_request* request, troika_error* error, IntPtr user);

    /// <summary>Called once with user when the library no longer needs user. NULL in place of the
    /// function: no call. The function must not call the library. May be called from any
    /// thread.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal unsafe delegate void troika_destroy_function(IntPtr user);

    /// <summary>Called once when a step has ended, on a thread of the library. result and error are
    /// borrowed for the call. The callback may call the library, except that it must not wait for a
    /// step of the same trainer.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal unsafe delegate void troika_done_function(
        Status status, troika_step_result* result, troika_error* error, IntPtr user);

    /// <summary>A progress callback. It is called after each batch of troika_trainer_train_epoch,
    /// troika_trainer_train_batches, troika_trainer_predict_loader and evaluations, on the thread
    /// that called them. Non-zero stops the call. An exception of C++ ends the call with CALLBACK.
    /// On GPUs, training on the next batch may have started by then; that step completes and
    /// counts. Borrowed until the callback returns: progress. The callback must not call this
    /// trainer, except troika_trainer_request_stop.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal unsafe delegate int troika_progress_function(troika_progress* progress, IntPtr user);
}
