using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Troika.Tests
{
    internal static class CallbackTests
    {
        private sealed class HostException : Exception
        {
            internal HostException(string message) : base(message)
            {
            }
        }

        /// <summary>Reports at once, on the thread that reports.</summary>
        private sealed class Reports : IProgress<Progress>
        {
            internal readonly List<Progress> All = new List<Progress>();

            public void Report(Progress value) => All.Add(value);
        }

        private static readonly Context Context = new Context();

        [Test]
        private static void Log()
        {
            var lines = new List<string>();
            var options = new ContextOptions
            {
                LogLevel = LogLevel.Debug, LogTopics = "memory=error",
                Log = (level, topic, line) =>
                {
                    lock (lines)
                        lines.Add(level + " " + topic + " " + line);
                },
            };
            using (var context = new Context(options))
            using (Trainer trainer = Samples.Mlp(context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(context))
                trainer.TrainEpoch(loader);
            lock (lines)
            {
                Expect.True(lines.Count > 0, "there are lines");
                Expect.True(lines.All(line => line.Split(' ').Length > 2), "level, topic and text");
                Expect.True(!lines.Any(line => line.StartsWith("Debug memory")), "levels of topics hold");
            }
        }

        [Test]
        private static void FailingLog()
        {
            var thrown = new HostException("the disk of the log is full");
            bool isFailing = false;
            var options = new ContextOptions
            {
                LogLevel = LogLevel.Debug,
                Log = (level, topic, line) =>
                {
                    if (isFailing)
                        throw thrown;
                },
            };
            using (var context = new Context(options))
            {
                Model model = Samples.Mlp(context);
                isFailing = true;
                Expect.Equal(Expect.Throws<HostException>(() =>
                {
                    using (Trainer trainer = model.Attach(Samples.Two))
                    using (Loader loader = Samples.Loader(context))
                        trainer.TrainEpoch(loader);
                    context.DescribeBackends();
                }), thrown);
                isFailing = false;
                // A line that another thread wrote meanwhile may have failed too.
                try
                {
                    context.DescribeBackends();
                }
                catch (HostException)
                {
                }
                Expect.Contains(context.DescribeBackends(), "cpu");
            }
        }

        [Test]
        private static void ProgressOfRuns()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                var reports = new Reports();
                Metrics metrics = trainer.TrainEpoch(loader, reports);
                Expect.List(reports.All.Select(report => report.Batch), Enumerable.Range(1, 12).Select(i => (long)i).ToArray());
                Progress last = reports.All.Last();
                Expect.Equal(last.Batches, 12);
                Expect.Equal(last.Samples, 96);
                Expect.Equal(last.Training, true);
                Expect.Equal(last.Loss, metrics.Loss);
                trainer.Evaluate(loader, reports);
                Expect.Equal(reports.All.Count, 24);
                Expect.Equal(reports.All.Last().Training, false);
                var output = new float[96 * 3];
                trainer.PredictLoader(loader, output, reports);
                Expect.Equal(reports.All.Count, 36);
                var handled = new List<Progress>();
                trainer.SetProgress(report =>
                {
                    handled.Add(report);
                    return report.Batch == 5;
                });
                Expect.Equal(trainer.TrainEpoch(loader).Status, Status.Stopped);
                Expect.Equal(handled.Count, 5);
                Expect.Equal(trainer.PredictLoader(loader, output), (40L, Status.Stopped));
                trainer.SetProgress(null);
                Expect.Equal(trainer.TrainEpoch(loader).Status, Status.Ok);
                Expect.Equal(handled.Count, 10);
            }
        }

        [Test]
        private static void FailingProgress()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                var thrown = new HostException("the window is closed");
                trainer.SetProgress(report =>
                {
                    if (report.Batch == 4)
                        throw thrown;
                    return false;
                });
                Expect.Equal(Expect.Throws<HostException>(() => trainer.TrainEpoch(loader)), thrown);
                Expect.Equal(loader.Tell().Batch, 4);
                // From the worker thread it comes as the same object too.
                loader.Seek(new LoaderPosition());
                Expect.Equal(Expect.Throws<HostException>(() => trainer.TrainEpochAsync(loader).GetAwaiter().GetResult()), thrown);
                trainer.SetProgress(null);
                Expect.Equal(trainer.TrainEpoch(loader).Samples, 64);
            }
        }

        /// <summary>A handler may train another model; its own trainer is busy.</summary>
        [Test]
        private static void NestedRuns()
        {
            using (Trainer outer = Samples.Mlp(Context).Attach(Samples.One))
            using (Trainer inner = Samples.Mlp(Context).Attach(Samples.One))
            using (Loader loader = Samples.Loader(Context, 16))
            using (Loader innerLoader = Samples.Loader(Context, 8))
            {
                var reports = new Reports();
                var innerReports = new Reports();
                outer.SetProgress(report =>
                {
                    Expect.Fails(Status.Busy, () => outer.TrainEpoch(loader));
                    inner.TrainEpoch(innerLoader, innerReports);
                    return false;
                });
                Expect.Equal(outer.TrainEpoch(loader, reports).Samples, 16);
                Expect.Equal(reports.All.Count, 2);
                Expect.Equal(innerReports.All.Count, 2);
            }
        }

        [Test]
        private static void Sources()
        {
            foreach (int prefetch in new[] { 0, 2 })
            {
                Dataset dataset = Dataset.CreateCallback(Context, Samples.Numbers());
                using (var loader = new Loader(dataset, new LoaderOptions { Batch = 4, Prefetch = prefetch }))
                {
                    loader.Next(out Batch batch);
                    Expect.List(batch.GetInputs(), 0f, 0f, 1f, -1f, 2f, -2f, 3f, -3f);
                    Expect.List(batch.GetLabels(), 0, 1, 0, 1);
                    Expect.Equal(loader.Count(), 2);
                    using (Trainer trainer = Samples.NumbersTrainer(Context))
                        Expect.Equal(trainer.TrainEpoch(loader).Samples, 10);
                }
            }
        }

        [Test]
        private static void SourcesOfValuesAndTokens()
        {
            var values = new Source
            {
                Dims = new long[] { 1 }, N = 2, ValueSize = 2,
                Read = request =>
                {
                    Span<float> inputs = request.Inputs;
                    for (int i = 0; i < request.N; ++i)
                    {
                        inputs[i] = request.Indices[i];
                        request.SetValues(i, 5, 6);
                    }
                    Expect.Equal(request.Values.Length, 2 * (int)request.N);
                    Expect.Equal(request.Tokens.Length, 0);
                    return request.N;
                },
            };
            using (var loader = new Loader(Dataset.CreateCallback(Context, values), new LoaderOptions { Batch = 2 }))
            {
                Batch batch = loader.First();
                Expect.List(batch.GetInputs(), 0f, 1f);
                Expect.List(batch.GetValues(), 5f, 6f, 5f, 6f);
            }
            var tokens = new Source
            {
                Dtype = Dtype.I32, Dims = new long[] { 2 }, N = 2, Words = 9, Classes = 3, LabelSize = 2,
                Read = request =>
                {
                    request.SetTokens(0, 7, 8);
                    request.Tokens.Slice(2).Fill(1);
                    request.Labels.Fill(2);
                    return request.N;
                },
            };
            using (var loader = new Loader(Dataset.CreateCallback(Context, tokens), new LoaderOptions { Batch = 2 }))
            {
                Batch batch = loader.First();
                Expect.List(batch.GetTokens(), 7, 8, 1, 1);
                Expect.List(batch.GetLabels(), 2, 2, 2, 2);
            }
        }

        [Test]
        private static void Streams()
        {
            var asked = new List<string>();
            var source = new Source
            {
                Dims = new long[] { 2 }, N = -1, Classes = 2,
                Read = request =>
                {
                    lock (asked)
                        asked.Add(request.Epoch + ":" + request.First);
                    Expect.Equal(request.Indices, null);
                    long n = Math.Max(Math.Min(request.N, 7 - request.First), 0);
                    for (int i = 0; i < n; ++i)
                    {
                        request.SetInputs(i, request.First + i, 0);
                        request.SetLabels(i, 1);
                    }
                    return n;
                },
            };
            using (var loader = new Loader(Dataset.CreateCallback(Context, source), new LoaderOptions { Batch = 3 }))
            {
                Expect.List(loader.SelectMany(batch => batch.GetInputs().Where((_, i) => i % 2 == 0)), 0f, 1f, 2f, 3f, 4f, 5f, 6f);
                Expect.Equal(loader.Tell().Epoch, 1);
            }
            lock (asked)
                Expect.True(asked.Contains("0:0") && asked.Contains("0:6"), string.Join(",", asked));
        }

        [Test]
        private static void FailingSources()
        {
            foreach (int prefetch in new[] { 0, 2 })
            {
                var thrown = new HostException("image 5 é\ncannot be decoded");
                bool isBroken = true;
                Dataset dataset = Dataset.CreateCallback(Context, Samples.Numbers(request =>
                {
                    if (request.Indices.Contains(5) && Volatile.Read(ref isBroken))
                        throw thrown;
                    return Samples.ReadNumbers(request);
                }));
                Dataset part = Dataset.Concat(dataset.Subset(new long[] { 0, 1, 2, 3, 4, 5, 6, 7 }).Split(new long[] { 8 })[0]);
                using (var loader = new Loader(part, new LoaderOptions { Batch = 4, Prefetch = prefetch }))
                using (Trainer trainer = Samples.NumbersTrainer(Context))
                {
                    Expect.Equal(loader.Next(out _), Status.Ok);
                    Expect.True(ReferenceEquals(Thrown(() => loader.Next(out _)), thrown), "the same exception comes back");
                    Expect.True(ReferenceEquals(Thrown(() => trainer.TrainEpoch(loader)), thrown), "from an epoch too");
                    Expect.Equal(loader.Tell().Batch, 1);
                    Volatile.Write(ref isBroken, false);
                    // The library asks again, and prefetched failures are gone then.
                    Expect.Equal(trainer.TrainEpoch(loader).Samples, 4);
                }
            }
        }

        private static Exception Thrown(Action action)
        {
            try
            {
                action();
            }
            catch (Exception thrown)
            {
                return thrown;
            }
            return null;
        }

        [Test]
        private static void MisusedSources()
        {
            ReadRequest kept = null;
            Exception misuse = null;
            Dataset dataset = Dataset.CreateCallback(Context, Samples.Numbers(request =>
            {
                kept = request;
                misuse = Thrown(() => request.SetInputs(0, 1)) ?? misuse;
                Expect.Throws<InvalidOperationException>(() => request.SetTokens(0, 1, 2), "has no such numbers");
                Expect.Throws<InvalidOperationException>(() => request.SetValues(0, 1), "has no such numbers");
                Expect.Throws<ArgumentOutOfRangeException>(() => request.SetLabels(request.N, 1), "need 0 to");
                return Samples.ReadNumbers(request);
            }));
            using (var loader = new Loader(dataset, new LoaderOptions { Batch = 10, Prefetch = 0 }))
                Expect.Equal(loader.Next(out _), Status.Ok);
            Expect.Contains(misuse.Message, "has 1 elements, need 2");
            Expect.Throws<ObjectDisposedException>(() => kept.SetInputs(0, 1, 2), "the function has returned");

            // The library's own checks: a label that is too large, and a count that is too small.
            Expect.Fails(Status.Callback, () => First(request =>
            {
                Samples.ReadNumbers(request);
                request.SetLabels(0, 9);
                return request.N;
            }), "9");
            Expect.Fails(Status.Callback, () => First(request => 0));
            Expect.Fails(Status.Callback, () => First(request => -7), "-7");
            Expect.Throws<ArgumentNullException>(() => Dataset.CreateCallback(Context, new Source()), "Source.Read is null");
            Expect.Fails(Status.InvalidArgument, () => Dataset.CreateCallback(Context, Samples.Numbers(n: -2)));
        }

        private static Status First(ReadHandler read)
        {
            using (var loader = new Loader(Dataset.CreateCallback(Context, Samples.Numbers(read)), new LoaderOptions { Batch = 10 }))
                return loader.Next(out _);
        }

        [Test]
        private static void StoppingSources()
        {
            Dataset dataset = Dataset.CreateCallback(Context, Samples.Numbers(
                request => request.Indices[0] >= 4 ? request.Stop() : Samples.ReadNumbers(request)));
            using (var loader = new Loader(dataset, new LoaderOptions { Batch = 2 }))
            using (Trainer trainer = Samples.NumbersTrainer(Context))
            {
                Metrics metrics = trainer.TrainEpoch(loader);
                Expect.Equal(metrics.Status, Status.Stopped);
                Expect.Equal(metrics.Samples, 4);
                Expect.Equal(loader.Next(out Batch none), Status.Stopped);
                Expect.Equal(none, null);
            }
        }
    }

    internal static class CancellationTests
    {
        private static readonly Context Context = new Context();

        /// <summary>Cancels a source after a number of batches.</summary>
        private sealed class CancelAfter : IProgress<Progress>
        {
            internal readonly CancellationTokenSource Source = new CancellationTokenSource();
            private readonly long batches;

            internal CancelAfter(long batches)
            {
                this.batches = batches;
            }

            public void Report(Progress value)
            {
                if (value.Batch == batches)
                    Source.Cancel();
            }
        }

        [Test]
        private static void InTheMiddleOfAnEpoch()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                var cancel = new CancelAfter(3);
                var canceled = Expect.Throws<RunCanceledException>(() => trainer.TrainEpoch(loader, cancel, cancel.Source.Token));
                Expect.Equal(canceled.Samples, 24);
                Expect.Equal(canceled.Metrics.Samples, 24);
                Expect.Equal(canceled.CancellationToken, cancel.Source.Token);
                Expect.Equal(loader.Tell().Batch, 3);
                // The trainer is usable: the stop is spent.
                Expect.Equal(trainer.TrainEpoch(loader).Samples, 72);

                cancel = new CancelAfter(2);
                Expect.Throws<RunCanceledException>(() => trainer.TrainBatches(loader, 5, cancel, cancel.Source.Token));
                loader.Seek(new LoaderPosition());
                cancel = new CancelAfter(2);
                Expect.Throws<RunCanceledException>(() => trainer.Evaluate(loader, cancel, cancel.Source.Token));
                cancel = new CancelAfter(2);
                Expect.Throws<RunCanceledException>(() => trainer.EvaluateOn(Device.Cpu(), loader, cancel, cancel.Source.Token));
                cancel = new CancelAfter(2);
                var predicted = Expect.Throws<RunCanceledException>(
                    () => trainer.PredictLoader(loader, new float[96 * 3], cancel, cancel.Source.Token));
                Expect.Equal(predicted.Samples, 16);
                Expect.Equal(predicted.Metrics, null);
                Expect.Equal(trainer.Evaluate(loader).Samples, 96);
            }
        }

        [Test]
        private static void BeforeAndAfter()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                var source = new CancellationTokenSource();
                Expect.Equal(trainer.TrainEpoch(loader, null, source.Token).Samples, 96);
                source.Cancel();
                Expect.Throws<OperationCanceledException>(() => trainer.TrainEpoch(loader, null, source.Token));
                Expect.Equal(loader.Tell().Batch, 0);
                // A token that is canceled with the last batch ends the run, and leaves no stop.
                var cancel = new CancelAfter(12);
                var canceled = Expect.Throws<RunCanceledException>(() => trainer.TrainEpoch(loader, cancel, cancel.Source.Token));
                Expect.Equal(canceled.Samples, 96);
                Expect.Equal(trainer.Evaluate(loader).Status, Status.Ok);
            }
        }

        /// <summary>A run that fails after its token was canceled leaves no stop either.</summary>
        [Test]
        private static void FailureAfterTheCancellation()
        {
            var source = new CancellationTokenSource();
            var thrown = new InvalidOperationException("the disk is gone");
            bool isBroken = true;
            Dataset dataset = Dataset.CreateCallback(Context, Samples.Numbers(request =>
            {
                if (!isBroken)
                    return Samples.ReadNumbers(request);
                source.Cancel();
                throw thrown;
            }));
            using (var loader = new Loader(dataset, new LoaderOptions { Batch = 5, Prefetch = 0 }))
            using (Trainer trainer = Samples.NumbersTrainer(Context))
            {
                Expect.Equal(Expect.Throws<InvalidOperationException>(() => trainer.TrainEpoch(loader, null, source.Token)), thrown);
                isBroken = false;
                Expect.Equal(trainer.TrainEpoch(loader).Status, Status.Ok);
            }
        }

        [Test]
        private static void Tasks()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                var cancel = new CancelAfter(2);
                Task<Metrics> epoch = trainer.TrainEpochAsync(loader, cancel, cancel.Source.Token);
                var canceled = Expect.Throws<RunCanceledException>(() => epoch.GetAwaiter().GetResult());
                Expect.Equal(canceled.Metrics.Samples, 16);
                Expect.True(epoch.IsCanceled, "the task is canceled");
                Expect.Equal(trainer.TrainEpochAsync(loader).Result.Samples, 80);
            }
        }

        /// <summary>A stop of another thread ends the run without an exception.</summary>
        [Test]
        private static void Stops()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                trainer.RequestStop();
                Expect.Equal(trainer.TrainEpoch(loader).Status, Status.Stopped);
                trainer.RequestStop();
                loader.Next(out Batch batch);
                (Tensor output, StepResult result) = trainer.Forward(batch);
                Expect.True(output == null && result.Status == Status.Stopped, "nothing was done");
                trainer.RequestStop();
                trainer.ClearStop();
                Expect.Equal(trainer.TrainEpoch(loader).Samples, 88);
                Task<Metrics> running = Task.Run(() =>
                {
                    Metrics metrics;
                    do
                        metrics = trainer.TrainEpoch(loader);
                    while (metrics.Status != Status.Stopped);
                    return metrics;
                });
                Thread.Sleep(20);
                trainer.RequestStop();
                Expect.Equal(running.Result.Status, Status.Stopped);
                trainer.RequestStop();
                Expect.Equal(trainer.Explain(5), null);
                trainer.ClearStop();
            }
        }
    }
}
