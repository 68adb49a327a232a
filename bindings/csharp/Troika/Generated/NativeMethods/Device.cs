// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills info as TROIKA_DEVICE_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_device_info_init(
            troika_device_info* info, uint struct_size);

        /// <summary>Returns the number of usable devices of a kind: cpu:0 ... cpu:N-1. A CPU device
        /// is logical: N is at least 8 on any machine. Devices that are attached together divide
        /// the context's thread budget.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT for an unknown kind. A kind that this machine cannot use
        /// has 0 devices, which is no error: troika_device_describe says why. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_device_count(
            ContextHandle context, int kind, out int out_device_count, out troika_error error);

        /// <summary>Describes one device: processor name, memory and free memory in bytes. Errors:
        /// DEVICE_UNAVAILABLE with the reason (what was looked for, where, and what the loader
        /// said), INVALID_ARGUMENT for an unknown kind. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_device_describe(
            ContextHandle context, Device device, troika_device_info* out_info,
            out troika_error error);

        /// <summary>Reads a device from its text form: cpu, cpu:1, cuda:0. Does not check whether
        /// the device exists.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT for any other text. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_device_parse(
            byte[] text, out Device out_device, out troika_error error);

        /// <summary>Writes a device's text form into the caller's buffer of capacity bytes, always
        /// NUL-terminated. If out_size is not NULL, it receives the bytes needed, including the
        /// NUL. A buffer that is too small, or NULL with capacity 0, is no error.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT for an unknown kind, or a capacity below 0. Any
        /// thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_device_format(
            Device device, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Returns cuda:index if that GPU is usable, else cpu:0: the tutorials' try_gpu.
        /// Falls back without an error.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT for an index below 0. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_device_try(
            ContextHandle context, int index, out Device out_device, out troika_error error);

        /// <summary>Returns every usable GPU, or cpu:0 alone if there is none: the tutorials'
        /// try_all_gpus. Fills at most device_capacity entries of devices, which may be NULL if
        /// device_capacity is 0. out_device_count receives the number of devices found.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT for a device_capacity below 0. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_devices_all(
            ContextHandle context, [Out] Device[] devices, int device_capacity,
            out int out_device_count, out troika_error error);
    }
}
