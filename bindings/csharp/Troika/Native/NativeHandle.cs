using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>A handle of the library. It is destroyed once, after the last call that uses
    /// it.</summary>
    internal abstract class NativeHandle : SafeHandle
    {
        private SafeHandle lender;

        protected NativeHandle() : base(IntPtr.Zero, true)
        {
        }

        public override bool IsInvalid => handle == IntPtr.Zero;

        /// <summary>Takes a handle that a call returned in an array.</summary>
        internal void Own(IntPtr value) => SetHandle(value);

        /// <summary>Takes a handle whose memory belongs to another one, which lives at least as
        /// long.</summary>
        internal void Borrow(IntPtr value, SafeHandle from)
        {
            bool isHeld = false;
            from.DangerousAddRef(ref isHeld);
            lender = from;
            SetHandle(value);
        }

        protected override bool ReleaseHandle()
        {
            Destroy(handle);
            lender?.DangerousRelease();
            return true;
        }

        protected abstract void Destroy(IntPtr value);
    }
}
