#if SPAN
using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Spans as memory.</summary>
    internal static class SpanBytes
    {
        /// <summary>Returns a reference to the first byte, for `fixed`. That of an empty span may
        /// be null.</summary>
        internal static ref byte Of<T>(ReadOnlySpan<T> span) where T : struct =>
            ref MemoryMarshal.GetReference(MemoryMarshal.AsBytes(span));
    }
}
#endif
