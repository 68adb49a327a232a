using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Troika.Tests
{
    internal static class LifetimeTests
    {
        [Test]
        private static void ClosedObjects()
        {
            var context = new Context();
            Dataset dataset = Samples.Synthetic(context);
            Loader loader = Samples.Loader(context);
            Model model = Samples.Mlp(context);
            Trainer trainer = model.Attach(Samples.One);
            Tensor tensor = new Tensor(context, Device.Cpu(), Dtype.F32, 2);
            Batch batch = Samples.SumBatch(context);
            var group = new Group(context, new GroupOptions { Rank = 0, Processes = 1 });
            Pending pending = Samples.SumTrainer(context).StartStep(batch);
            pending.Wait();
            var gradients = new Gradients(context);
            var all = new TroikaObject[] { context, dataset, loader, model, trainer, tensor, batch, group, pending, gradients };
            foreach (TroikaObject each in all)
            {
                Expect.Equal(each.IsClosed, false);
                each.Dispose();
                each.Dispose();
                Expect.Equal(each.IsClosed, true);
            }
            Closed(() => context.DescribeBackends(), "Context");
            Closed(() => dataset.Info.ToString(), "Dataset");
            Closed(() => loader.Tell(), "Loader");
            Closed(() => model.Print(), "Model");
            Closed(() => trainer.Info.ToString(), "Trainer");
            Closed(() => tensor.ToArray<float>(), "Tensor");
            Closed(() => batch.GetInputs(), "Batch");
            Closed(() => group.Barrier(), "Group");
            Closed(() => pending.Wait(), "Pending");
            Closed(() => gradients.Watch(Tensor.Create(new Context(), Device.Cpu(), new float[1])), "Gradients");
            Closed(() => GC.KeepAlive(tensor + 1), "Tensor");
            // As an argument too.
            Closed(() => Samples.SumTrainer(new Context()).Step(batch), "Batch");
            Closed(() => Model.Create(context, "mlp"), "Context");
        }

        private static void Closed(Action call, string type) =>
            Expect.Throws<ObjectDisposedException>(call, type + ": the object is closed");

        /// <summary>Objects work after those that they were made from are closed.</summary>
        [Test]
        private static void AnyOrder()
        {
            var context = new Context();
            Dataset dataset = Samples.Synthetic(context);
            var loader = new Loader(dataset, new LoaderOptions { Batch = 8 });
            Model model = Samples.Mlp(context);
            Trainer trainer = model.Attach(Samples.Two);
            context.Dispose();
            dataset.Dispose();
            model.Dispose();
            Expect.Equal(trainer.TrainEpoch(loader).Samples, 96);
            Model trained = trainer.Unwrap();
            trainer.Dispose();
            Expect.Equal(trained.Predict(Device.Cpu(), new float[16]).Length, 3);
        }

        /// <summary>Closing a loader, or a trainer, waits for the call of another thread.</summary>
        [Test]
        private static void CloseDuringACall()
        {
            using (var context = new Context())
            {
                Trainer trainer = Samples.Mlp(context).Attach(Samples.Two);
                Loader loader = Samples.Loader(context, 8000);
                Task<Metrics> epoch = trainer.TrainEpochAsync(loader);
                Thread.Sleep(5);
                loader.Dispose();
                trainer.Dispose();
                Expect.True(epoch.Result.Samples > 0, "the epoch ends");
            }
        }

        /// <summary>Collects garbage while the library calls back, also from its own
        /// threads.</summary>
        [Test]
        private static void CollectionsDuringCallbacks()
        {
            bool isOver = false;
            var collector = new Thread(() =>
            {
                while (!Volatile.Read(ref isOver))
                {
                    GC.Collect();
                    Thread.Sleep(1);
                }
            });
            collector.Start();
            long lines = 0;
            for (int round = 0; round < 5; ++round)
                using (var context = new Context(new ContextOptions { LogLevel = LogLevel.Debug, Log = (l, t, s) => Interlocked.Increment(ref lines) }))
                {
                    Loader loader = MakeLoader(context);
                    Trainer trainer = Samples.NumbersTrainer(context);
                    trainer.SetProgress(report => new byte[100].Length == 0);
                    GC.Collect();
                    Expect.Equal(trainer.TrainEpoch(loader).Samples, 100);
                    foreach (Batch batch in loader)
                        trainer.StepAsync(batch).Wait();
                }
            Volatile.Write(ref isOver, true);
            collector.Join();
            Expect.True(lines > 0, "there were lines");
        }

        /// <summary>The dataset and its function are kept only by the loader.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Loader MakeLoader(Context context) =>
            new Loader(Dataset.CreateCallback(context, Samples.Numbers(n: 100)), new LoaderOptions { Batch = 5 });

        /// <summary>What the library keeps alive for a host is released with the dataset.</summary>
        [Test]
        private static void KeptObjectsAreReleased()
        {
            using (var context = new Context())
            {
                var borrowed = new List<WeakReference>();
                for (int i = 0; i < 4; ++i)
                    borrowed.AddRange(UseArrays(context, i % 2 == 0));
                Collect();
                Expect.True(borrowed.Count(reference => reference.IsAlive) <= 1, "arrays are released");
            }
            var handlers = new List<WeakReference>();
            for (int i = 0; i < 4; ++i)
                handlers.Add(UseLog());
            Collect();
            Expect.True(handlers.Count(reference => reference.IsAlive) <= 1, "log handlers are released");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static IEnumerable<WeakReference> UseArrays(Context context, bool isClosed)
        {
            var inputs = new float[100, 10];
            var targets = new int[100];
            ReadHandler read = request => inputs.Length + Samples.ReadNumbers(request) - inputs.Length;
            Dataset arrays = Dataset.CreateFrom(context, new Arrays { Inputs = inputs, Targets = targets, Borrow = true });
            Dataset numbers = Dataset.CreateCallback(context, Samples.Numbers(read));
            GC.Collect();
            using (var loader = new Loader(arrays, new LoaderOptions { Batch = 100 }))
                Expect.Equal(loader.First().GetInputs().Sum(), 0f);
            // A call that fails releases what it was given.
            Expect.Fails(Status.InvalidArgument, () => Dataset.CreateFrom(
                context, new Arrays { Inputs = inputs, Targets = targets, Borrow = true, Std = -1 }));
            Expect.Fails(Status.InvalidArgument, () => Dataset.CreateCallback(context, Samples.Numbers(read, -9)));
            if (isClosed)
            {
                arrays.Dispose();
                numbers.Dispose();
            }
            return new[] { new WeakReference(inputs), new WeakReference(targets), new WeakReference(read) };
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static WeakReference UseLog()
        {
            var counts = new long[1];
            LogHandler handler = (level, topic, line) => ++counts[0];
            new Context(new ContextOptions { Log = handler, LogLevel = LogLevel.Debug }).Dispose();
            Expect.Fails(Status.InvalidArgument, () => new Context(new ContextOptions { Log = handler, CpuThreads = 0 }));
            return new WeakReference(handler);
        }

        internal static void Collect()
        {
            for (int i = 0; i < 3; ++i)
            {
                // The stack of this thread may still have an old address.
                new Thread(GC.Collect).Start();
                Thread.Sleep(10);
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
    }

    internal static class LeakTests
    {
        /// <summary>Memory stays the same over many objects, closed or forgotten.</summary>
        [Test]
        private static void Leaks()
        {
            using (var context = new Context())
            {
                MakeMany(context, 300);
                LifetimeTests.Collect();
                long before = ResidentBytes();
                MakeMany(context, 3000);
                LifetimeTests.Collect();
                long grown = ResidentBytes() - before;
                // 3000 tensors of 64 KB are 190 MB.
                Expect.True(grown < 24 << 20, "memory grew by " + grown);
            }
        }

        private static void MakeMany(Context context, int count)
        {
            using (Trainer trainer = Samples.SumTrainer(context))
            using (Batch batch = Samples.SumBatch(context))
            using (Loader loader = Samples.Loader(context, 64))
                for (int i = 0; i < count; ++i)
                {
                    // Nobody closes this one.
                    Expect.Equal(new Tensor(context, Device.Cpu(), Dtype.U8, 1 << 16).IsClosed, false);
                    using (Tensor tensor = Tensor.Create(context, Device.Cpu(), new byte[1 << 16]))
                        Expect.Equal(tensor.Info.SizeBytes, 1 << 16);
                    MakeGradient(context);
                    trainer.Step(batch);
                    trainer.Predict(Tensor.Create(context, Device.Cpu(), new float[,] { { 1, 2 } }));
                    foreach (Batch each in loader)
                        Expect.Equal(each.Info.N, 8);
                    if (i % 10 == 0)
                    {
                        Samples.Mlp(context).Print();
                        new Context().Dispose();
                        trainer.StepAsync(batch).Wait();
                        Expect.Fails(Status.NotFound, () => Model.Open(context, "none"));
                    }
                    if (i % 100 == 0)
                        GC.Collect();
                }
        }

        /// <summary>Forgets a record, results of operations, and a gradient.</summary>
        private static void MakeGradient(Context context)
        {
            Tensor x = Tensor.Full(context, Device.Cpu(), Dtype.F32, new long[] { 1 << 14 }, 2);
            var gradients = new Gradients(context);
            gradients.Watch(x);
            Expect.Equal(gradients.Of((x * x).Sum(), x)[0].IsClosed, false);
        }

        private static long ResidentBytes() => long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * 4096;
    }

    internal static class ThreadTests
    {
        /// <summary>Threads predict with one model at once, and a second call of a trainer is
        /// busy.</summary>
        [Test]
        private static void Predictions()
        {
            using (var context = new Context(new ContextOptions { PredictThreads = 1 }))
            {
                Model model = Samples.Mlp(context);
                model.InitializeDefault(5);
                float[] input = Enumerable.Range(0, 16).Select(i => i / 16f).ToArray();
                float[] wanted = model.Predict(Device.Cpu(), input);
                Parallel.For(0, 200, new ParallelOptions { MaxDegreeOfParallelism = 4 }, i =>
                    Expect.List(model.Predict(Device.Cpu(), input), wanted));
            }
        }

        [Test]
        private static void BusyTrainers()
        {
            using (var context = new Context())
            using (Trainer trainer = Samples.Mlp(context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(context))
            using (var isInside = new ManualResetEventSlim())
            using (var isTried = new ManualResetEventSlim())
            {
                trainer.SetProgress(report =>
                {
                    isInside.Set();
                    isTried.Wait();
                    return false;
                });
                Task<Metrics> epoch = trainer.TrainEpochAsync(loader);
                isInside.Wait();
                Expect.Fails(Status.Busy, () => trainer.Step(Samples.Loader(context).First()), "in progress");
                Expect.Fails(Status.Busy, () => loader.Tell());
                Expect.Fails(Status.Busy, () => trainer.Model.GetParameter(trainer.Model.Parameters[0].Name));
                Expect.Equal(trainer.Model.Info.Name, "mlp");
                isTried.Set();
                Expect.Equal(epoch.Result.Samples, 96);
            }
        }

        /// <summary>Threads train models of their own in one context.</summary>
        [Test]
        private static void Trainers()
        {
            using (var context = new Context())
            {
                double[] losses = new double[3];
                Parallel.For(0, losses.Length, i =>
                {
                    using (Trainer trainer = Samples.Mlp(context).Attach(Samples.One))
                    using (Loader loader = Samples.Loader(context))
                        losses[i] = trainer.TrainEpoch(loader).Loss;
                });
                Expect.List(losses, losses[0], losses[0], losses[0]);
            }
        }
    }
}
