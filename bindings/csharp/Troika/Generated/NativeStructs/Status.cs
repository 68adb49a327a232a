// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Why a call failed. Owned by the caller, who passes its address, or NULL, as the
    /// last argument of a call. Success clears it (status 0, empty message); failure always fills
    /// it. Nothing in it needs to be freed.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe partial struct troika_error
    {
        internal int status;
        internal fixed byte message[1020];
    }
}
