using System;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Troika.Tests
{
    internal static class GradientTests
    {
        private static readonly Context Context = new Context();

        private static Tensor Make(float[] data, params long[] dims) => Tensor.Create(Context, Device.Cpu(), data, dims);

        /// <summary>Learns y = 2 a - 3 b from samples of it.</summary>
        [Test]
        private static void LinearRegression()
        {
            using (Tensor x = Tensor.Normal(Context, Device.Cpu(), Dtype.F32, new long[] { 64, 2 }, 0, 1, 1))
            using (Tensor truth = Make(new float[] { 2, -3 }, 2, 1))
            using (Tensor y = x.Matmul(truth))
            using (Tensor w = new Tensor(Context, Device.Cpu(), Dtype.F32, 2, 1))
            {
                float[] losses = Enumerable.Range(0, 100).Select(step => Step(Context, x, y, w)).ToArray();
                for (int i = 1; i < 20; ++i)
                    Expect.True(losses[i] < losses[i - 1], "the loss falls in step " + i);
                Expect.True(losses[99] < 1e-6, "the last loss is " + losses[99]);
                Expect.Near(w.ToArray<float>()[0], 2, 1e-3);
                Expect.Near(w.ToArray<float>()[1], -3, 1e-3);
            }
        }

        private static float Step(Context context, Tensor x, Tensor y, Tensor w)
        {
            using (var gradients = new Gradients(context))
            {
                gradients.Watch(w);
                using (Tensor product = x.Matmul(w))
                using (Tensor difference = product - y)
                using (Tensor square = difference * difference)
                using (Tensor loss = square.Mean())
                using (Tensor gradient = gradients.Of(loss, w)[0])
                {
                    // A tensor that is watched does not change.
                    gradients.Dispose();
                    w.AddInPlace(gradient, -0.1);
                    return loss.ToArray<float>()[0];
                }
            }
        }

        [Test]
        private static void Values()
        {
            using (Tensor x = Make(new float[] { 1, 2, 3, 4, 5, 6 }, 3, 2))
            using (Tensor w = Make(new float[] { 1, -1 }, 2, 1))
            using (var gradients = new Gradients(Context))
            {
                gradients.Watch(w);
                // Twice is as good as once.
                gradients.Watch(w);
                using (Tensor y = x.Matmul(w))
                using (Tensor square = y * y)
                using (Tensor sum = square.Sum())
                {
                    // y is [-1, -1, -1], and the gradient of w is 2 x^T y.
                    for (int i = 0; i < 2; ++i)
                        using (Tensor of = gradients.Of(sum, w)[0])
                        {
                            Expect.List(of.Info.Dims, 2, 1);
                            Expect.List(of.ToArray<float>(), -18, -24);
                        }
                    Tensor[] both = gradients.Of(sum, y, w);
                    Expect.List(both[0].ToArray<float>(), -2, -2, -2);
                    Expect.List(both[1].ToArray<float>(), -18, -24);
                }
            }
        }

        [Test]
        private static void Errors()
        {
            using (Tensor x = Make(new float[] { 1, 2 }))
            using (Tensor other = Make(new float[] { 3, 4 }))
            using (var first = new Gradients(Context))
            using (var second = new Gradients(Context))
            {
                first.Watch(x);
                second.Watch(other);
                Tensor norm = x.Norm();
                Expect.Fails(Status.InvalidArgument, () => second.Watch(x), "belongs to another gradients object");
                Expect.Fails(Status.InvalidArgument, () => first.Watch(new Tensor(Context, Device.Cpu(), Dtype.I32, 2)), "is i32, need f32, bf16 or f16");
                Expect.Fails(Status.InvalidArgument, () => first.Of(norm, x, other), "argument 'tensors[1]' is not recorded");
                Expect.Fails(Status.InvalidArgument, () => second.Of(norm, other), "argument 'number' is not recorded");
                Expect.Fails(Status.InvalidArgument, () => first.Of(x, x), "shape [2], need one number");
                Expect.Fails(Status.InvalidArgument, () => x.Add(other), "tensors belong to two gradients objects");
                Expect.Fails(Status.InvalidArgument, () => x.AddInPlace(x), "is recorded for gradients");
                Expect.Fails(Status.InvalidArgument, () => x.ScaleInPlace(2), "is recorded for gradients");
                Expect.Throws<ArgumentNullException>(() => first.Watch(x, null), "Gradients.Watch: tensor is null");
                Expect.Throws<ArgumentNullException>(() => first.Of(null, x), "Gradients.Of: number is null");
                Expect.Throws<ArgumentNullException>(() => first.Of(norm, x, null), "Gradients.Of: tensors[1] is null");
                Expect.Throws<ArgumentException>(() => first.Of(norm), "Gradients.Of: tensors is empty");
                Expect.Throws<ArgumentNullException>(() => new Gradients(null), "Gradients: context is null");
                // After an error the record goes on, and after its end the tensor may change.
                Expect.Near(first.Of(norm, x)[0].ToArray<float>()[0], 1 / Math.Sqrt(5));
                first.Dispose();
                x.ScaleInPlace(2);
                Expect.List(x.ToArray<float>(), 2, 4);
                Expect.Throws<ObjectDisposedException>(() => first.Watch(x), "Gradients: the object is closed");
                Expect.Throws<ObjectDisposedException>(() => first.Of(norm, x), "Gradients: the object is closed");
            }
        }

        /// <summary>The record keeps what it needs: tensors may be closed, or forgotten.</summary>
        [Test]
        private static void ClosedTensors()
        {
            using (Tensor w = Make(new float[] { 3, 4 }))
            using (var gradients = new Gradients(Context))
            {
                gradients.Watch(w);
                Tensor loss = Loss(w);
                LifetimeTests.Collect();
                Expect.List(gradients.Of(loss, w)[0].ToArray<float>(), 6 * 9, 6 * 16);
            }
        }

        /// <summary>Returns twice the sum of cubes. The results in between are forgotten, or
        /// closed.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Tensor Loss(Tensor w)
        {
            using (Tensor cube = w * w * w)
                return (cube + cube).Sum();
        }
    }
}
