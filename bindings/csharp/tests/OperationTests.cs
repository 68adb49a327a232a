using System;
using System.Linq;

namespace Troika.Tests
{
    internal static class OperationTests
    {
        private static readonly Context Context = new Context();

        private static Tensor Make(float[] data, params long[] dims) => Tensor.Create(Context, Device.Cpu(), data, dims);

        /// <summary>Compares the numbers of a result, and closes it.</summary>
        private static void Numbers<T>(Tensor result, params T[] wanted) where T : struct
        {
            using (result)
                Expect.List(result.ToArray<T>(), wanted);
        }

        private static void Near(Tensor result, params double[] wanted)
        {
            using (result)
            {
                float[] found = result.ToArray<float>();
                Expect.Equal(found.Length, wanted.Length);
                for (int i = 0; i < found.Length; ++i)
                    Expect.Near(found[i], wanted[i], 2e-6);
            }
        }

        [Test]
        private static void NewTensors()
        {
            Device cpu = Device.Cpu(1);
            var dims = new long[] { 2, 3 };
            using (Tensor full = Tensor.Full(Context, cpu, Dtype.F32, dims, 1.5))
            {
                Expect.Equal(full.Info.Device, cpu);
                Expect.List(full.Info.Dims, 2, 3);
                Numbers(full, 1.5f, 1.5f, 1.5f, 1.5f, 1.5f, 1.5f);
            }
            Numbers(Tensor.Full(Context, cpu, Dtype.I64, new long[0], -7), -7L);
            Numbers(Tensor.Arange(Context, cpu, Dtype.F32, 20, -0.5, 4), 20, 19.5f, 19, 18.5f);
            dims = new long[] { 100, 100 };
            float[] uniform = Tensor.Uniform(Context, cpu, Dtype.F32, dims, -1, 2, 7).ToArray<float>();
            Expect.List(Tensor.Uniform(Context, Device.Cpu(), Dtype.F32, dims, -1, 2, 7).ToArray<float>(), uniform);
            Expect.True(uniform.Min() >= -1 && uniform.Max() < 2, "numbers are within the bounds");
            Expect.Near(uniform.Average(), 0.5, 0.05);
            float[] normal = Tensor.Normal(Context, cpu, Dtype.F32, dims, 3, 0.5, 7).ToArray<float>();
            Expect.Near(normal.Average(), 3, 0.05);
            Expect.Near(normal.Average(v => (v - 3) * (v - 3)), 0.25, 0.05);
            Expect.True(!normal.SequenceEqual(Tensor.Normal(Context, cpu, Dtype.F32, dims, 3, 0.5, 8).ToArray<float>()), "the seed counts");
        }

        [Test]
        private static void TwoTensors()
        {
            using (Tensor a = Make(new float[] { 1, 2, 3, 4, 5, 6 }, 2, 3))
            using (Tensor row = Make(new float[] { 10, 20, 30 }))
            using (Tensor column = Make(new float[] { 2, 4 }, 2, 1))
            {
                Numbers(a.Add(row), 11f, 22, 33, 14, 25, 36);
                Numbers(row.Subtract(a), 9f, 18, 27, 6, 15, 24);
                Numbers(a.Multiply(column), 2f, 4, 6, 16, 20, 24);
                Numbers(a.Divide(column), 0.5f, 1, 1.5f, 1, 1.25f, 1.5f);
                Numbers<byte>(a.Compare(column, Relation.Equal), 0, 1, 0, 1, 0, 0);
                Numbers<byte>(a.Compare(column, Relation.NotEqual), 1, 0, 1, 0, 1, 1);
                Numbers<byte>(a.Compare(column, Relation.Less), 1, 0, 0, 0, 0, 0);
                Numbers<byte>(a.Compare(column, Relation.LessOrEqual), 1, 1, 0, 1, 0, 0);
                Numbers<byte>(a.Compare(column, Relation.Greater), 0, 0, 1, 0, 1, 1);
                Numbers<byte>(a.Compare(column, Relation.GreaterOrEqual), 0, 1, 1, 1, 1, 1);
            }
        }

        [Test]
        private static void Operators()
        {
            using (Tensor a = Make(new float[] { 1, 2 }))
            using (Tensor b = Make(new float[] { 4, 8 }))
            {
                Numbers(a + b, 5f, 10);
                Numbers(a - b, -3f, -6);
                Numbers(a * b, 4f, 16);
                Numbers(b / a, 4f, 4);
                Numbers(-a, -1f, -2);
                Numbers(a + 1, 2f, 3);
                Numbers(1 + a, 2f, 3);
                Numbers(a - 1, 0f, 1);
                Numbers(1 - a, 0f, -1);
                Numbers(a * 0.5, 0.5f, 1);
                Numbers(3 * a, 3f, 6);
                Numbers(a / 2, 0.5f, 1);
                Numbers((a + b) * a - 2, 3f, 18);
                Expect.Throws<ArgumentNullException>(() => GC.KeepAlive(null + b), "Tensor: left is null");
                Expect.Throws<ArgumentNullException>(() => GC.KeepAlive(a * (Tensor)null), "Tensor.Multiply: other is null");
                Expect.Throws<ArgumentNullException>(() => GC.KeepAlive(2 * (Tensor)null), "Tensor: x is null");
            }
        }

        [Test]
        private static void OneTensor()
        {
            float[] data = { -2, -0.5f, 0, 3 };
            Func<Func<double, double>, double[]> of = map => data.Select(v => map(v)).ToArray();
            using (Tensor x = Make(data))
            using (Tensor positive = Make(new float[] { 0.25f, 1, 9 }))
            {
                Near(x.Scale(2, 1), of(v => 2 * v + 1));
                Near(x.Relu(), of(v => Math.Max(v, 0)));
                Near(x.Sigmoid(), of(v => 1 / (1 + Math.Exp(-v))));
                Near(x.Tanh(), of(Math.Tanh));
                Near(x.Gelu(), -0.0455003, -0.1542687, 0, 2.9959502);
                Near(x.Silu(), of(v => v / (1 + Math.Exp(-v))));
                Near(x.LeakyRelu(0.5), -1, -0.25, 0, 3);
                Near(x.LeakyRelu(), -0.02, -0.005, 0, 3);
                Near(x.Abs(), of(Math.Abs));
                Near(x.Exp(), of(Math.Exp));
                Near(positive.Log(), Math.Log(0.25), 0, Math.Log(9));
                Numbers(positive.Sqrt(), 0.5f, 1, 3);
                Numbers(x.Cast(Dtype.I32), -2, 0, 0, 3);
                Numbers<byte>(x.Cast(Dtype.U8), 0, 0, 0, 3);
                using (Tensor half = x.Cast(Dtype.F16))
                {
                    Expect.Equal(half.Info.Dtype, Dtype.F16);
                    Numbers((half * half).Cast(Dtype.F32), 4f, 0.25f, 0, 9);
                }
            }
        }

        [Test]
        private static void InPlace()
        {
            using (Tensor w = Make(new float[] { 1, 2, 3, 4 }, 2, 2))
            using (Tensor row = Make(new float[] { 10, 20 }))
            {
                w.AddInPlace(w, -0.5);
                Expect.List(w.ToArray<float>(), 0.5f, 1, 1.5f, 2);
                w.AddInPlace(row);
                Expect.List(w.ToArray<float>(), 10.5f, 21, 11.5f, 22);
                w.ScaleInPlace(2, -1);
                Expect.List(w.ToArray<float>(), 20, 41, 22, 43);
                w.ScaleInPlace(0);
                Expect.List(w.ToArray<float>(), 0, 0, 0, 0);
                Expect.Fails(Status.InvalidArgument, () => row.AddInPlace(w), "the tensor to change is f32[2]");
            }
        }

        [Test]
        private static void MatricesAndImages()
        {
            using (Tensor a = Make(new float[] { 1, 2, 3, 4, 5, 6 }, 2, 3))
            using (Tensor b = Make(new float[] { 1, 0, 0, 1, 1, 1 }, 3, 2))
            {
                Numbers(a.Matmul(b), 4f, 5, 10, 11);
                Numbers(a.Matmul(a, transposeOther: true), 14f, 32, 32, 77);
                Numbers(b.Matmul(b, transposeThis: true), 2f, 1, 1, 2);
                Expect.Fails(Status.InvalidArgument, () => a.Matmul(a), "[2, 3] and [2, 3]: 3 columns by 2 rows");
            }
            var pool = new Pool2dOptions { Kernel = 2, Stride = 1 };
            using (Tensor image = Make(new float[] { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 1, 1, 3, 3))
            using (Tensor weight = Make(new float[] { 1, 0, 0, 1 }, 1, 1, 2, 2))
            using (Tensor bias = Make(new float[] { 100 }))
            {
                Numbers(image.Conv2d(weight), 6f, 8, 12, 14);
                Numbers(image.Conv2d(weight, bias), 106f, 108, 112, 114);
                Numbers(image.Conv2d(weight, null, new Conv2dOptions { Padding = 1, Stride = 2 }), 1f, 3, 7, 14);
                Numbers(image.MaxPool2d(pool), 5f, 6, 8, 9);
                Numbers(image.AvgPool2d(pool), 3f, 4, 6, 7);
                Expect.Fails(Status.InvalidArgument, () => image.MaxPool2d(new Pool2dOptions()), "kernel[0] is not set");
                Expect.Fails(Status.InvalidArgument, () => image.Conv2d(bias), "weight has shape [1]");
                Expect.Throws<ArgumentNullException>(() => image.AvgPool2d(null), "Tensor.AvgPool2d: options is null");
            }
        }

        [Test]
        private static void Shapes()
        {
            using (Tensor x = Make(new float[] { 1, 2, 3, 4, 5, 6 }, 2, 3))
            using (Tensor column = Make(new float[] { 7, 8 }, 2, 1))
            {
                using (Tensor seen = x.Reshape(3, -1))
                {
                    Expect.List(seen.Info.Dims, 3, 2);
                    seen.ScaleInPlace(10);
                    Expect.List(x.ToArray<float>(), 10, 20, 30, 40, 50, 60);
                    x.ScaleInPlace(0.1);
                }
                using (Tensor one = column.Slice(0, 0, 1))
                using (Tensor scalar = one.Reshape())
                    Expect.List(scalar.Info.Dims);
                Numbers(x.Transpose(), 1f, 4, 2, 5, 3, 6);
                Numbers(x.Transpose(0, 1), 1f, 2, 3, 4, 5, 6);
                Numbers(x.Slice(-1, 1, 3), 2f, 3, 5, 6);
                Numbers(Tensor.Concat(1, x, column), 1f, 2, 3, 7, 4, 5, 6, 8);
                Numbers(column.Expand(2, 2), 7f, 7, 8, 8);
                Expect.Fails(Status.InvalidArgument, () => x.Reshape(4, 2), "[2, 3], which cannot become [4, 2]");
                Expect.Fails(Status.InvalidArgument, () => x.Slice(2, 0, 1), "axis is 2");
                Expect.Fails(Status.InvalidArgument, () => x.Transpose(1, 1), "each axis of [2, 3] once");
                Expect.Throws<ArgumentException>(() => x.Transpose(1), "Tensor.Transpose: order has 1 axes, need 2");
                Expect.Throws<ArgumentException>(() => Tensor.Concat(0), "tensors is empty");
                Expect.Throws<ArgumentNullException>(() => Tensor.Concat(0, x, null), "Tensor.Concat: tensors[1] is null");
            }
        }

        [Test]
        private static void AlongAxes()
        {
            using (Tensor x = Make(new float[] { 1, 2, 3, 4, 5, 6, 7, 8 }, 2, 2, 2))
            {
                using (Tensor all = x.Sum())
                    Expect.List(all.Info.Dims);
                Numbers(x.Sum(), 36f);
                Numbers(x.Sum(new[] { 0, -1 }), 14f, 22);
                Numbers(x.Sum(-1), 3f, 7, 11, 15);
                Numbers(x.Sum(new int[0]), 1f, 2, 3, 4, 5, 6, 7, 8);
                using (Tensor kept = x.Sum(new[] { 0, -1 }, keepAxes: true))
                    Expect.List(kept.Info.Dims, 1, 2, 1);
                Numbers(x.Mean(), 4.5f);
                Numbers(x.Mean(1), 2f, 3, 6, 7);
                using (Tensor kept = x.Mean(1, true))
                    Expect.List(kept.Info.Dims, 2, 1, 2);
                Numbers(x.Argmax(0), 1L, 1, 1, 1);
                Numbers(Make(new float[] { 3, -4 }).Norm(), 5f);
                Near(Make(new float[] { 0, (float)Math.Log(3) }).Softmax(), 0.25, 0.75);
                Near(Make(new float[] { 0, (float)Math.Log(3) }, 2, 1).Softmax(0), 0.25, 0.75);
                Expect.Fails(Status.InvalidArgument, () => x.Sum(new[] { 1, -2 }), "axes have 1 twice");
            }
        }

        [Test]
        private static void Labels()
        {
            double sum = Math.Exp(1) + Math.Exp(2) + Math.Exp(3);
            using (Tensor logits = Make(new float[] { 0, 0, 0, 1, 2, 3 }, 2, 3))
            {
                foreach (Array labels in new Array[] { new[] { 1, 2 }, new long[] { 1, 2 }, new byte[] { 1, 2 } })
                    Near(logits.CrossEntropy(Tensor.Create(Context, Device.Cpu(), labels)), Math.Log(3), Math.Log(sum) - 3);
                Expect.Fails(Status.Unsupported, () => logits.CrossEntropy(logits), "'labels' is f32, need i32, i64 or u8");
            }
        }

        [Test]
        private static void Text()
        {
            Tensor matrix = Make(new float[] { 1, 2.5f, -3, 0, 1e8f, 0.001f }, 2, 3);
            Expect.Equal(matrix.ToString(), "f32[2, 3] on cpu:0\n[[   1.,   2.5,   -3.],\n [   0., 1e+08, 0.001]]");
            Expect.Equal("" + Tensor.Create(Context, Device.Cpu(1), new long[3]), "i64[3] on cpu:1\n[0, 0, 0]");
            // More text than the first buffer has.
            Tensor many = Tensor.Full(Context, Device.Cpu(), Dtype.F32, new long[] { 900 }, 0.125);
            Expect.True(many.ToString().Length > 5000, "all numbers are shown");
            matrix.Dispose();
            Expect.Equal(matrix.ToString(), "Tensor (closed)");
        }

        [Test]
        private static void Waiting()
        {
            Context.Synchronize(Device.Cpu());
            Expect.Fails(Status.InvalidArgument, () => Context.Synchronize(new Device((DeviceKind)9, 0)), "device.kind is 9");
        }

        [Test]
        private static void Errors()
        {
            Device cpu = Device.Cpu();
            var dims = new long[] { 2 };
            using (Tensor a = Make(new float[] { 1, 2 }))
            {
                Expect.Fails(Status.InvalidArgument, () => a.Add(Make(new float[] { 1, 2, 3 })), "[2] and [3], need sizes that are equal or 1");
                Expect.Fails(Status.InvalidArgument, () => a.Add(Tensor.Create(Context, Device.Cpu(1), new float[2])), "tensors are on cpu:0 and cpu:1, need one device");
                Expect.Fails(Status.Unsupported, () => a.Add(Tensor.Create(Context, cpu, new long[2])), "argument 'b' is i64, need f32, bf16 or f16");
                Expect.Fails(Status.InvalidArgument, () => a.Compare(a, (Relation)9), "relation is 9");
                Expect.Fails(Status.Unsupported, () => a.Cast(Dtype.I8), "cannot make i8 of f32");
                Expect.Throws<ArgumentNullException>(() => a.Add(null), "Tensor.Add: other is null");
                Expect.Throws<ArgumentNullException>(() => a.Matmul(null), "Tensor.Matmul: other is null");
                Expect.Throws<ArgumentNullException>(() => a.Conv2d(null), "Tensor.Conv2d: weight is null");
                Expect.Throws<ArgumentNullException>(() => a.Reshape(null), "Tensor.Reshape: dims is null");
                Expect.Throws<ArgumentNullException>(() => a.CrossEntropy(null), "Tensor.CrossEntropy: labels is null");
            }
            Expect.Fails(Status.Unsupported, () => Tensor.Full(Context, cpu, Dtype.F8E4M3, dims, 0), "dtype is f8_e4m3");
            Expect.Fails(Status.InvalidArgument, () => Tensor.Arange(Context, cpu, Dtype.F32, 0, 1, -1), "-1");
            Expect.Fails(Status.InvalidArgument, () => Tensor.Uniform(Context, cpu, Dtype.F32, dims, 2, 1), "low is 2");
            Expect.Fails(Status.InvalidArgument, () => Tensor.Normal(Context, cpu, Dtype.F32, dims, 0, -1), "deviation is -1");
            Expect.Throws<ArgumentNullException>(() => Tensor.Full(null, cpu, Dtype.F32, dims, 0), "Tensor.Full: context is null");
            Expect.Throws<ArgumentNullException>(() => Tensor.Full(Context, cpu, Dtype.F32, null, 0), "Tensor.Full: dims is null");
        }
    }
}
