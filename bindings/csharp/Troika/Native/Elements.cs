using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    /// <summary>Element types of arrays, and arrays as memory.</summary>
    internal static class Elements
    {
        private static readonly Dictionary<Type, Dtype> Types = new Dictionary<Type, Dtype>
        {
            { typeof(float), Dtype.F32 }, { typeof(double), Dtype.F64 }, { typeof(int), Dtype.I32 },
            { typeof(long), Dtype.I64 }, { typeof(byte), Dtype.U8 }, { typeof(sbyte), Dtype.I8 },
            { typeof(short), Dtype.I16 },
        };

        /// <summary>Returns the type of an array's elements, or null if they are only bits, such as
        /// those of F16 in ushort.</summary>
        internal static Dtype? DtypeOf(Array array)
        {
            Type type = array.GetType().GetElementType();
            return Types.TryGetValue(type, out Dtype dtype) ? dtype : (Dtype?)null;
        }

        internal static int SizeOf(Dtype dtype)
        {
            switch (dtype)
            {
                case Dtype.F64:
                case Dtype.I64:
                    return 8;
                case Dtype.F32:
                case Dtype.I32:
                    return 4;
                case Dtype.BF16:
                case Dtype.F16:
                case Dtype.I16:
                    return 2;
                default:
                    return 1;
            }
        }

        /// <summary>Whether a type holds elements of another: the same type, or its bits in ushort
        /// or byte.</summary>
        internal static bool Holds(Type type, Dtype dtype)
        {
            bool isSame = Types.TryGetValue(type, out Dtype own) && own == dtype;
            bool isBits = SizeOf(dtype) == 2 && dtype != Dtype.I16 && type == typeof(ushort);
            isBits |= SizeOf(dtype) == 1 && dtype != Dtype.I8 && type == typeof(byte);
            return isSame || isBits;
        }

        /// <summary>Checks that an array can hold elements of a type.</summary>
        internal static void Check(Array array, Dtype dtype, string what)
        {
            if (!Holds(array.GetType().GetElementType(), dtype))
                throw Refusal(array, what, "elements of " + dtype);
        }

        /// <summary>Returns the error of an array with other elements. For an array of arrays, it
        /// names the array to pass in its place.</summary>
        internal static ArgumentException Refusal(Array array, string what, string needed)
        {
            Type type = array.GetType().GetElementType();
            Type inner = type;
            string commas = "";
            for (; inner.IsArray; inner = inner.GetElementType())
                commas += ",";
            if (type.IsArray)
                needed = "one array with all axes: " + inner.Name + "[" + commas + "]";
            return new ArgumentException(what + " is an array of " + type.Name + ", need " + needed);
        }

        /// <summary>Multiplies sizes. The product of none is 1.</summary>
        internal static long Count(IReadOnlyList<long> dims, string what)
        {
            long count = 1;
            for (int i = 0; i < dims.Count; ++i)
            {
                if (dims[i] < 0)
                    throw new ArgumentException(what + "[" + i + "] is " + dims[i] + ", need at least 0");
                count = checked(count * dims[i]);
            }
            return count;
        }

        /// <summary>Returns the sizes of an array's axes, from `first` on.</summary>
        internal static long[] DimsOf(Array array, int first)
        {
            var dims = new long[array.Rank - first];
            for (int i = 0; i < dims.Length; ++i)
                dims[i] = array.GetLongLength(i + first);
            return dims;
        }

        /// <summary>Returns sizes as text: [2, 3].</summary>
        internal static string Text(IEnumerable<long> dims) => "[" + string.Join(", ", dims) + "]";
    }

    /// <summary>An array that keeps its address until it is released.</summary>
    internal sealed unsafe class PinnedArray : IDisposable
    {
        private GCHandle pin;

        internal PinnedArray(Array array, string what)
        {
            if (!array.GetType().GetElementType().IsPrimitive)
                throw Elements.Refusal(array, what, "an array of numbers");
            pin = GCHandle.Alloc(array, GCHandleType.Pinned);
            Bytes = Buffer.ByteLength(array);
        }

        internal void* Address => (void*)pin.AddrOfPinnedObject();

        internal long Bytes { get; }

        public void Dispose() => pin.Free();
    }
}
