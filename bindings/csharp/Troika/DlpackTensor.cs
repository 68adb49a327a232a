using System;
using System.Runtime.InteropServices;

namespace Troika
{
    /// <summary>Memory that two libraries share by DLPack. It owns a DLManagedTensor, or a
    /// DLManagedTensorVersioned, and calls its deleter when it is closed. Another library that
    /// takes the struct gets its address by <see cref="SafeHandle.DangerousGetHandle"/>; call
    /// <see cref="SafeHandle.SetHandleAsInvalid"/> afterwards.</summary>
    public sealed class DlpackTensor : SafeHandle
    {
        // A DLManagedTensor is a DLTensor of 48 bytes, the producer's pointer and the deleter.
        private const int DeleterOffset = 56;
        // The versioned struct begins with two numbers of 32 bits, the pointer and the deleter.
        private const int VersionedDeleterOffset = 16;

        /// <summary>Takes a struct of another library.</summary>
        public DlpackTensor(IntPtr managed, bool isVersioned) : base(IntPtr.Zero, true)
        {
            IsVersioned = isVersioned;
            SetHandle(managed);
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void Deleter(IntPtr managed);

        /// <summary>Whether the struct has the layout of DLPack 1.0.</summary>
        public bool IsVersioned { get; }

        /// <summary>Whether there is no struct.</summary>
        public override bool IsInvalid => handle == IntPtr.Zero;

        /// <summary>Calls the deleter.</summary>
        protected override bool ReleaseHandle()
        {
            IntPtr deleter = Marshal.ReadIntPtr(handle, IsVersioned ? VersionedDeleterOffset : DeleterOffset);
            if (deleter != IntPtr.Zero)
                Marshal.GetDelegateForFunctionPointer<Deleter>(deleter)(handle);
            return true;
        }
    }
}
