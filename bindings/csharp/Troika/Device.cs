using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Troika.Native;

namespace Troika
{
    /// <summary>A device: a value with the text form cpu:1 or cuda:0. Any thread.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Device : IEquatable<Device>
    {
        private readonly int kind;
        private readonly int index;

        /// <summary>Names a device. It need not exist.</summary>
        public Device(DeviceKind kind, int index)
        {
            this.kind = (int)kind;
            this.index = index;
        }

        /// <summary>A CPU slice or a GPU.</summary>
        public DeviceKind Kind => (DeviceKind)kind;

        /// <summary>The number among the devices of its kind, from 0.</summary>
        public int Index => index;

        /// <summary>Returns a logical CPU device.</summary>
        public static Device Cpu(int index = 0) => new Device(DeviceKind.Cpu, index);

        /// <summary>Returns an NVIDIA GPU.</summary>
        public static Device Cuda(int index = 0) => new Device(DeviceKind.Cuda, index);

        /// <summary>Reads a device from its text form: cpu, cpu:1, cuda:0.</summary>
        /// <exception cref="TroikaException">InvalidArgument for any other text.</exception>
        public static Device Parse(string text)
        {
            Library.Load();
            return ParseBytes(Utf8.Bytes(text, "Device.Parse: text"));
        }

        /// <summary>Returns the text form. It has numbers if the kind is none of the
        /// library's.</summary>
        public override string ToString()
        {
            Library.Load();
            Device device = this;
            Status status = NativeText.Read(
                (byte[] buffer, long capacity, out long size, out troika_error failure) =>
                    NativeMethods.troika_device_format(device, buffer, capacity, out size, out failure),
                out string text, out troika_error error);
            return status == Status.Ok ? text : kind + ":" + index;
        }

        /// <summary>Compares kind and index.</summary>
        public bool Equals(Device other) => kind == other.kind && index == other.index;

        /// <summary>Compares kind and index.</summary>
        public override bool Equals(object other) => other is Device && Equals((Device)other);

        /// <summary>Returns a hash of kind and index.</summary>
        public override int GetHashCode() => kind * 31 + index;

        /// <summary>Compares kind and index.</summary>
        public static bool operator ==(Device left, Device right) => left.Equals(right);

        /// <summary>Compares kind and index.</summary>
        public static bool operator !=(Device left, Device right) => !left.Equals(right);

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Device ParseBytes(byte[] text)
        {
            Status status = NativeMethods.troika_device_parse(text, out Device device, out troika_error error);
            TroikaException.ThrowIfFailed(status, ref error);
            return device;
        }
    }
}
