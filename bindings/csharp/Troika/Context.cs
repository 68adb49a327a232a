using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Threading;
using Troika.Native;

namespace Troika
{
    /// <summary>Receives a line of the log: its level, its topic ("backend", "comm", "plan",
    /// "memory" or "train") and the text. It may run on any thread, one call at a time, and must
    /// not call the library. An exception comes back, as it was thrown, from the next call that
    /// uses the context.</summary>
    public delegate void LogHandler(LogLevel level, string topic, string line);

    public sealed partial class ContextOptions
    {
        /// <summary>Receives the log lines; null (default): no log.</summary>
        public LogHandler Log { get; set; }

        unsafe partial void WriteMore(troika_context_options* raw, NativeScope scope)
        {
            if (Log == null)
                return;
            raw->log = Callbacks.Log;
            raw->log_user_destroy = Callbacks.Release;
        }
    }

    /// <summary>The root object: CPU threads, seed and log. It never changes, so any thread may use
    /// it at any time. Objects that are made from it keep it alive.</summary>
    public sealed class Context : TroikaObject
    {
        private readonly LogSink log;

        /// <summary>Creates a context. null: the defaults.</summary>
        /// <exception cref="TroikaException">InvalidArgument, which names the option.</exception>
        public Context(ContextOptions options = null) : this(options ?? new ContextOptions(), CreateSink(options))
        {
        }

        private Context(ContextOptions options, LogSink log) : base(Create(options, log), null)
        {
            this.log = log;
            ThrowLogFailure();
        }

        internal ContextHandle Handle => (ContextHandle)Live;

        /// <summary>Describes the backends and the transports between processes, one line each, and
        /// says why one cannot be used. Any thread.</summary>
        public string DescribeBackends()
        {
            ContextHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_context_describe_backends(handle, buffer, capacity, out size, out error));
        }

        /// <summary>Returns the number of usable devices of a kind; 0 if this machine has none. Any
        /// thread.</summary>
        public int DeviceCount(DeviceKind kind)
        {
            Status status = NativeMethods.troika_device_count(Handle, (int)kind, out int count, out troika_error error);
            Check(status, ref error);
            return count;
        }

        /// <summary>Describes a device. Any thread.</summary>
        /// <exception cref="TroikaException">DeviceUnavailable, with the reason.</exception>
        public unsafe DeviceInfo DescribeDevice(Device device)
        {
            troika_device_info info = troika_device_info.Default();
            Check(NativeMethods.troika_device_describe(Handle, device, &info, out troika_error error), ref error);
            return new DeviceInfo(&info);
        }

        /// <summary>Returns the GPU with this index if it is usable, else cpu:0. Any
        /// thread.</summary>
        public Device TryDevice(int index = 0)
        {
            Status status = NativeMethods.troika_device_try(Handle, index, out Device device, out troika_error error);
            Check(status, ref error);
            return device;
        }

        /// <summary>Returns every usable GPU, or cpu:0 alone if there is none. Any
        /// thread.</summary>
        public IReadOnlyList<Device> AllDevices()
        {
            var devices = new Device[16];
            while (true)
            {
                Status status = NativeMethods.troika_devices_all(
                    Handle, devices, devices.Length, out int count, out troika_error error);
                Check(status, ref error);
                bool isAll = count <= devices.Length;
                Array.Resize(ref devices, count);
                if (isAll)
                    return devices;
            }
        }

        /// <summary>Waits until all operations on a device that were called before have ended. Any
        /// thread.</summary>
        /// <exception cref="TroikaException">DeviceUnavailable, or the failure that an operation on
        /// a GPU ended with.</exception>
        public void Synchronize(Device device) =>
            Check(NativeMethods.troika_device_synchronize(Handle, device, out troika_error error), ref error);

        /// <summary>Throws what the log function threw, once.</summary>
        internal void ThrowLogFailure() => log?.ThrowFailure();

        private static LogSink CreateSink(ContextOptions options) =>
            options?.Log == null ? null : new LogSink(options.Log);

        private static unsafe ContextHandle Create(ContextOptions options, LogSink log)
        {
            using (var scope = new NativeScope())
            {
                troika_context_options raw;
                options.WriteTo(&raw, scope);
                if (log != null)
                    raw.log_user = Callbacks.Keep(log);
                Status status = NativeMethods.troika_context_create(&raw, out ContextHandle handle, out troika_error error);
                if (status < Status.Ok && log != null)
                    Callbacks.OnRelease(raw.log_user);
                TroikaException.ThrowIfFailed(status, ref error);
                return handle;
            }
        }
    }

    /// <summary>The log function of a context, and what it threw.</summary>
    internal sealed class LogSink
    {
        private readonly LogHandler handler;
        private ExceptionDispatchInfo failure;

        internal LogSink(LogHandler handler)
        {
            this.handler = handler;
        }

        internal void Write(LogLevel level, string topic, string line)
        {
            try
            {
                handler(level, topic, line);
            }
            catch (Exception thrown)
            {
                Interlocked.CompareExchange(ref failure, ExceptionDispatchInfo.Capture(thrown), null);
            }
        }

        internal void ThrowFailure()
        {
            if (Volatile.Read(ref failure) != null)
                Interlocked.Exchange(ref failure, null)?.Throw();
        }
    }
}
