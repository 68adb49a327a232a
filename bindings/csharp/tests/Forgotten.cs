using System;
using System.Collections.Generic;
using System.Threading;

namespace Troika.Tests
{
    /// <summary>A host that ends without closing anything, while the library works for
    /// it.</summary>
    internal static class Forgotten
    {
        private static readonly ManualResetEventSlim IsReading = new ManualResetEventSlim();
        private static readonly List<TroikaObject> Kept = new List<TroikaObject>();

        internal static void Leave()
        {
            var context = new Context(new ContextOptions { LogLevel = LogLevel.Info, Log = (level, topic, line) => line.Trim() });
            Trainer trainer = Samples.Mlp(context).Attach(Samples.Two);
            trainer.SetProgress(progress => false);
            trainer.TrainEpoch(Samples.Loader(context));
            Kept.Add(trainer);
            var endless = new Source { Dims = new long[] { 2 }, N = -1, Classes = 2, Read = Read };
            var loader = new Loader(Dataset.CreateCallback(context, endless), new LoaderOptions { Batch = 2, Prefetch = 4 });
            Kept.Add(loader);
            new Thread(() => loader.Next(out _)) { IsBackground = true }.Start();
            IsReading.Wait();
            foreach (Batch batch in Samples.Loader(context))
                Kept.Add(trainer.StartStep(batch));
            Console.WriteLine("left");
        }

        private static long Read(ReadRequest request)
        {
            IsReading.Set();
            Thread.Sleep(20);
            request.Labels.Clear();
            request.Inputs.Clear();
            return request.N;
        }
    }
}
