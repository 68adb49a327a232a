using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Copies of arrays that the library lends. null stays null for those that a batch may
    /// lack.</summary>
    internal static unsafe class NativeArray
    {
        internal static long[] Read(long* from, int count)
        {
            var read = new long[count];
            for (int i = 0; i < count; ++i)
                read[i] = from[i];
            return read;
        }

        internal static double[] Read(double* from, int count)
        {
            var read = new double[count];
            for (int i = 0; i < count; ++i)
                read[i] = from[i];
            return read;
        }

        internal static Value[] Values(long* from, int count)
        {
            var read = new Value[count];
            for (int i = 0; i < count; ++i)
                read[i] = new Value(from[i]);
            return read;
        }

        internal static float[] Copy(float* from, long count)
        {
            if (from == null)
                return null;
            var copy = new float[count];
            Marshal.Copy((IntPtr)from, copy, 0, copy.Length);
            return copy;
        }

        internal static int[] Copy(int* from, long count)
        {
            if (from == null)
                return null;
            var copy = new int[count];
            Marshal.Copy((IntPtr)from, copy, 0, copy.Length);
            return copy;
        }
    }
}
