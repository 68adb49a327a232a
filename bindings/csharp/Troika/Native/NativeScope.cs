using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>The memory and the handles that a call needs. They are free after it.</summary>
    internal sealed unsafe class NativeScope : IDisposable
    {
        private readonly List<IntPtr> blocks = new List<IntPtr>();
        private readonly List<SafeHandle> handles = new List<SafeHandle>();

        /// <summary>Returns memory, or null for 0 bytes.</summary>
        internal void* Allocate(long bytes)
        {
            if (bytes == 0)
                return null;
            IntPtr block = Marshal.AllocHGlobal((IntPtr)bytes);
            blocks.Add(block);
            return (void*)block;
        }

        /// <summary>Returns a copy of a text as C has it, or null.</summary>
        internal byte* Text(string text, string what)
        {
            byte[] bytes = Utf8.OptionalBytes(text, what);
            if (bytes == null)
                return null;
            var copy = (byte*)Allocate(bytes.Length);
            Marshal.Copy(bytes, 0, (IntPtr)copy, bytes.Length);
            return copy;
        }

        /// <summary>Returns a copy of a list, or null for none.</summary>
        internal long* Copy(IReadOnlyList<long> list)
        {
            int count = list?.Count ?? 0;
            var copy = (long*)Allocate((long)count * sizeof(long));
            for (int i = 0; i < count; ++i)
                copy[i] = list[i];
            return copy;
        }

        /// <summary>Returns a copy of a list, or null for none.</summary>
        internal double* Copy(IReadOnlyList<double> list)
        {
            int count = list?.Count ?? 0;
            var copy = (double*)Allocate((long)count * sizeof(double));
            for (int i = 0; i < count; ++i)
                copy[i] = list[i];
            return copy;
        }

        /// <summary>Keeps an object alive, and returns its handle; 0 for null.</summary>
        internal IntPtr Hold(TroikaObject held)
        {
            if (held == null)
                return IntPtr.Zero;
            SafeHandle handle = held.Live;
            bool isHeld = false;
            handle.DangerousAddRef(ref isHeld);
            handles.Add(handle);
            return handle.DangerousGetHandle();
        }

        /// <summary>Keeps objects alive, and returns their handles.</summary>
        internal IntPtr[] HoldAll(IReadOnlyList<TroikaObject> all, string what)
        {
            var held = new IntPtr[all.Count];
            for (int i = 0; i < held.Length; ++i)
                held[i] = Hold(Argument.NotNull(all[i], what + "[" + i + "]"));
            return held;
        }

        public void Dispose()
        {
            foreach (SafeHandle handle in handles)
                handle.DangerousRelease();
            foreach (IntPtr block in blocks)
                Marshal.FreeHGlobal(block);
        }
    }
}
