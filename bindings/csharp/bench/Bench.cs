using System;
using System.Diagnostics;
using System.Globalization;
using System.Threading;
using Troika;

/// <summary>Measures the binding: Bench.exe [IMAGES]. Prints the time of a trivial call, and the
/// images per second of LeNet at batch 16, by an epoch in one call and by a loop of
/// steps.</summary>
internal static class Bench
{
    private const int Calls = 1000000;
    private const int Batch = 16;

    private static void Main(string[] arguments)
    {
        Thread.CurrentThread.CurrentCulture = CultureInfo.InvariantCulture;
        long images = arguments.Length > 0 ? long.Parse(arguments[0]) : 16000;
        using (var context = new Context())
        using (Dataset dataset = Dataset.CreateSynthetic(context, new long[] { 1, 28, 28 }, images, 10))
        using (var loader = new Loader(dataset, new LoaderOptions { Batch = Batch }))
        using (Model model = Model.Create(context, "d2l_lenet"))
        using (Trainer trainer = model.Attach(new[] { Device.Cpu() }, new TrainerOptions { LearningRate = 0.05 }))
        {
            Report("call ns", 1e9 / Rate(Calls, () => Call(Calls)));
            // The first epoch compiles.
            trainer.TrainEpoch(loader);
            Report("epoch images/s", Rate(images, () => trainer.TrainEpoch(loader)));
            Report("steps images/s", Rate(images, () => Step(trainer, loader)));
        }
    }

    private static void Call(int count)
    {
        for (int i = 0; i < count; ++i)
            GC.KeepAlive(Library.Version);
    }

    private static void Step(Trainer trainer, Loader loader)
    {
        foreach (Batch batch in loader)
            trainer.Step(batch);
    }

    /// <summary>Returns the best rate of three runs.</summary>
    private static double Rate(long count, Action run)
    {
        double best = 0;
        for (int i = 0; i < 3; ++i)
        {
            Stopwatch watch = Stopwatch.StartNew();
            run();
            best = Math.Max(best, count / watch.Elapsed.TotalSeconds);
        }
        return best;
    }

    private static void Report(string what, double value) => Console.WriteLine("{0} {1:F1}", what, value);
}
