using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>The functions that the library calls. Their delegates live as long as the process.
    /// `user` is a GCHandle, which the library returns to Release. No exception leaves a
    /// callback.</summary>
    internal static unsafe class Callbacks
    {
        private static readonly troika_destroy_function ReleaseFunction = OnRelease;
        private static readonly troika_log_function LogFunction = OnLog;
        private static readonly troika_read_function ReadFunction = OnRead;
        private static readonly troika_progress_function ProgressFunction = OnProgress;

        internal static readonly IntPtr Release = Marshal.GetFunctionPointerForDelegate(ReleaseFunction);
        internal static readonly IntPtr Log = Marshal.GetFunctionPointerForDelegate(LogFunction);
        internal static readonly IntPtr Read = Marshal.GetFunctionPointerForDelegate(ReadFunction);
        internal static readonly IntPtr Progress = Marshal.GetFunctionPointerForDelegate(ProgressFunction);

        /// <summary>Keeps an object alive until the library releases it.</summary>
        internal static IntPtr Keep(object kept) => GCHandle.ToIntPtr(GCHandle.Alloc(kept));

        /// <summary>Releases an object that the library did not take.</summary>
        internal static void OnRelease(IntPtr user)
        {
            GCHandle handle = GCHandle.FromIntPtr(user);
            (handle.Target as IDisposable)?.Dispose();
            handle.Free();
        }

        private static T Kept<T>(IntPtr user) => (T)GCHandle.FromIntPtr(user).Target;

        private static void OnLog(int level, byte* topic, byte* line, IntPtr user)
        {
            Kept<LogSink>(user).Write((LogLevel)level, Utf8.Read(topic), Utf8.Read(line));
        }

        private static long OnRead(troika_read_request* request, troika_error* error, IntPtr user) =>
            Kept<SourceReader>(user).Read(request, error);

        private static int OnProgress(troika_progress* progress, IntPtr user) => Run.Report(progress) ? 1 : 0;
    }
}
