// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Scores over all classes. Filled by troika_scores_compute. NaN: does not
    /// apply.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct troika_scores
    {
        internal uint struct_size;
        internal int top;
        internal long n;
        internal double accuracy;
        internal double top_accuracy;
        internal double precision;
        internal double recall;
        internal double f1;
        internal double auc;

        /// <summary>Returns the library's defaults. The library is loaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static troika_scores Default()
        {
            troika_scores raw;
            NativeMethods.troika_scores_init(&raw, (uint)sizeof(troika_scores));
            return raw;
        }
    }
}
