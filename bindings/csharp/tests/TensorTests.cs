using System;
using System.Linq;
using System.Runtime.InteropServices;

namespace Troika.Tests
{
    internal static class TensorTests
    {
        private static readonly Context Context = new Context();

        [Test]
        private static void Arrays()
        {
            using (Tensor tensor = Tensor.Create(Context, Device.Cpu(1), new[,] { { 1, 2, 3 }, { 4, 5, 6 } }))
            {
                TensorInfo info = tensor.Info;
                Expect.Equal(info.Dtype, Dtype.I32);
                Expect.List(info.Dims, 2, 3);
                Expect.Equal(info.SizeBytes, 24);
                Expect.Equal(info.Device, Device.Cpu(1));
                Expect.List(tensor.ToArray<int>(), 1, 2, 3, 4, 5, 6);
                var matrix = new int[2, 3];
                tensor.ToHost(matrix);
                Expect.Equal(matrix[1, 2], 6);
                tensor.FromHost(new[] { 6, 5, 4, 3, 2, 1 });
                Expect.List(tensor.ToArray<int>(), 6, 5, 4, 3, 2, 1);
            }
            Expect.List(new Tensor(Context, Device.Cpu(), Dtype.F64, 2).ToArray<double>(), 0, 0);
            Expect.Equal(new Tensor(Context, Device.Cpu(), Dtype.F32).ToArray<float>().Length, 1);
            Expect.List(Tensor.Create(Context, Device.Cpu(), new long[4], 2, 2).Info.Dims, 2, 2);
            Expect.Equal(Tensor.Create(Context, Device.Cpu(), new float[0, 3]).ToArray<float>().Length, 0);
        }

        [Test]
        private static void Types()
        {
            Type(new float[] { 1 }, Dtype.F32);
            Type(new double[] { 1 }, Dtype.F64);
            Type(new int[] { 1 }, Dtype.I32);
            Type(new long[] { 1 }, Dtype.I64);
            Type(new byte[] { 1 }, Dtype.U8);
            Type(new sbyte[] { -1 }, Dtype.I8);
            Type(new short[] { -1 }, Dtype.I16);
            using (Tensor half = Tensor.Create(Context, Device.Cpu(), Dtype.F16, new ushort[] { 0x3c00 }))
                Expect.List(half.ToArray<ushort>(), (ushort)0x3c00);
            using (Tensor flags = Tensor.Create(Context, Device.Cpu(), Dtype.Bool, new byte[] { 0, 1 }))
                Expect.List(flags.ToArray<byte>(), (byte)0, (byte)1);
        }

        private static void Type<T>(T[] data, Dtype dtype) where T : struct
        {
            using (Tensor tensor = Tensor.Create(Context, Device.Cpu(), data))
            {
                Expect.Equal(tensor.Info.Dtype, dtype);
                Expect.List(tensor.ToArray<T>(), data);
            }
        }

        [Test]
        private static void Copies()
        {
            using (Tensor tensor = Tensor.Create(Context, Device.Cpu(), new float[] { 1, 2, 3 }))
            using (Tensor other = new Tensor(Context, Device.Cpu(1), Dtype.F32, 3))
            {
                tensor.Copy(other);
                Expect.List(other.ToArray<float>(), 1, 2, 3);
                using (Tensor moved = tensor.To(Device.Cpu(2)))
                {
                    Expect.Equal(moved.Info.Device, Device.Cpu(2));
                    Expect.List(moved.ToArray<float>(), 1, 2, 3);
                }
                Tensor.AllReduce(tensor, other);
                Expect.List(tensor.ToArray<float>(), 2, 4, 6);
                Expect.List(other.ToArray<float>(), 2, 4, 6);
            }
        }

        [Test]
        private static void Scatter()
        {
            float[] data = Enumerable.Range(0, 10).Select(i => (float)i).ToArray();
            using (Tensor tensor = Tensor.Create(Context, Device.Cpu(), data))
            {
                Tensor[] pieces = tensor.Scatter(Enumerable.Range(0, 4).Select(Device.Cpu));
                Expect.List(pieces.Select(piece => piece.Info.Dims[0]), 3, 3, 2, 2);
                Expect.List(pieces.SelectMany(piece => piece.ToArray<float>()), data);
                Expect.Equal(pieces[3].Info.Device, Device.Cpu(3));
            }
        }

        [Test]
        private static void Dlpack()
        {
            foreach (bool isVersioned in new[] { false, true })
                using (Tensor tensor = Tensor.Create(Context, Device.Cpu(), new float[] { 1, 2 }))
                {
                    DlpackTensor shared = isVersioned ? tensor.ToDlpackVersioned() : tensor.ToDlpack();
                    Expect.Equal(shared.IsVersioned, isVersioned);
                    Expect.Equal(shared.IsInvalid, false);
                    using (Tensor same = Tensor.FromDlpack(Context, shared))
                    {
                        Expect.True(shared.IsClosed, "the tensor took the struct");
                        tensor.FromHost(new float[] { 3, 4 });
                        tensor.Dispose();
                        Expect.List(same.ToArray<float>(), 3, 4);
                    }
                    Expect.Throws<ObjectDisposedException>(() => Tensor.FromDlpack(Context, shared));
                }
            // Nobody takes this one: closing it calls the deleter.
            DlpackTensor unused = Tensor.Create(Context, Device.Cpu(), new float[] { 1 }).ToDlpack();
            IntPtr data = Marshal.ReadIntPtr(unused.DangerousGetHandle());
            Expect.Equal(Marshal.ReadInt32(data), 0x3f800000);
            unused.Dispose();
            // A struct with a type that the library does not have stays the caller's.
            DlpackTensor strange = Tensor.Create(Context, Device.Cpu(), new float[] { 1 }).ToDlpack();
            Marshal.WriteByte(strange.DangerousGetHandle(), 20, 99);
            Expect.Fails(Status.Unsupported, () => Tensor.FromDlpack(Context, strange));
            Expect.Equal(strange.IsClosed, false);
            strange.Dispose();
        }

        [Test]
        private static void Spans()
        {
            ReadOnlySpan<float> data = new float[] { 9, 1, 2 };
            using (Tensor tensor = Tensor.Create(Context, Device.Cpu(), data.Slice(1), 2))
            {
                Span<float> read = new float[2];
                tensor.ToHost(read);
                Expect.List(read.ToArray(), 1, 2);
                tensor.FromHost(data.Slice(0, 2));
                Expect.List(tensor.ToArray<float>(), 9, 1);
                Expect.Fails(Status.InvalidArgument, () => tensor.ToHost((Span<float>)new float[3]));
                Expect.Throws<ArgumentException>(() => tensor.ToHost((Span<int>)new int[2]));
            }
        }

        [Test]
        private static void Errors()
        {
            Device cpu = Device.Cpu();
            using (Tensor tensor = Tensor.Create(Context, cpu, new float[] { 1, 2, 3 }))
            {
                Expect.Fails(Status.InvalidArgument, () => tensor.ToHost(new float[2]), "troika_tensor_to_host");
                Expect.Throws<ArgumentException>(() => tensor.ToArray<int>(), "Tensor.ToArray: T is Int32, need a type for elements of F32");
                Expect.Throws<ArgumentException>(() => tensor.ToHost(new int[3]), "Tensor.ToHost: data is an array of Int32, need elements of F32");
                Expect.Throws<ArgumentException>(() => tensor.FromHost(new string[3]), "array of String");
                Expect.Throws<ArgumentNullException>(() => tensor.Copy(null), "Tensor.Copy: destination is null");
                Expect.Fails(Status.InvalidArgument, () => tensor.Copy(new Tensor(Context, cpu, Dtype.F32, 2)));
                Expect.Fails(Status.InvalidArgument, () => tensor.Scatter(new Device[0]));
                Expect.Fails(Status.InvalidArgument, () => Tensor.AllReduce(tensor, tensor));
            }
            Expect.Throws<ArgumentException>(() => Tensor.Create(Context, cpu, new float[5], 2, 3), "data has 5 elements, need 6 for [2, 3]");
            Expect.Throws<ArgumentException>(() => Tensor.Create(Context, cpu, new float[5], -1), "need at least 0");
            Expect.Throws<ArgumentException>(() => Tensor.Create(Context, cpu, new decimal[1]), "array of Decimal");
            Expect.Throws<ArgumentException>(() => Tensor.Create(Context, cpu, Dtype.I32, new float[1]), "array of Single");
            Expect.Throws<ArgumentException>(() => Tensor.Create(Context, cpu, new float[4][]), "array of Single[], need one array with all axes: Single[,]");
            Expect.Throws<ArgumentException>(() => Tensor.Create(Context, cpu, Dtype.F32, new float[4][][]), "Single[,,]");
            Expect.Throws<ArgumentNullException>(() => Tensor.Create(null, cpu, new float[1]), "context is null");
            Expect.Throws<ArgumentException>(() => Tensor.AllReduce(), "is empty");
            Expect.Fails(Status.InvalidArgument, () => new Tensor(Context, default(Device), Dtype.F32, 1));
            Expect.Fails(Status.InvalidArgument, () => new Tensor(Context, cpu, (Dtype)77, 1));
        }
    }
}
