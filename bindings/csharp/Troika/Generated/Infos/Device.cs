// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Description of a device. Filled by Device.Describe.</summary>
    public sealed partial class DeviceInfo
    {
        internal unsafe DeviceInfo(troika_device_info* raw)
        {
            Cores = raw->cores;
            MemoryBytes = raw->memory_bytes;
            FreeBytes = raw->free_bytes;
            Name = Utf8.Read(raw->name, 256);
        }

        /// <summary>CPU: cores that the process may use; GPU: multiprocessors.</summary>
        public int Cores { get; }

        /// <summary>Total memory.</summary>
        public long MemoryBytes { get; }

        /// <summary>Memory that is free now.</summary>
        public long FreeBytes { get; }

        /// <summary>Name of the processor, UTF-8.</summary>
        public string Name { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "DeviceInfo", ("Cores", Cores), ("MemoryBytes", MemoryBytes),
                ("FreeBytes", FreeBytes), ("Name", Name));
    }
}
