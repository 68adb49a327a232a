namespace Troika.Tests
{
    /// <summary>Small models and datasets whose results are known.</summary>
    internal static class Samples
    {
        internal static readonly Device[] One = { Device.Cpu() };
        internal static readonly Device[] Two = { Device.Cpu(0), Device.Cpu(1) };

        /// <summary>The model y = 1 a + 2 b of samples [a, b].</summary>
        internal static Model Sum(Context context)
        {
            Model model = Model.CreateEmpty(context, "sum");
            Value x = model.AddInput("x", 2);
            model.SetOutput(model.AddLinear("fc", x, 1, bias: false));
            model.SetParameter("fc.weight", new float[] { 1, 2 });
            return model;
        }

        /// <summary>A trainer of the sum with mean squared error and rate 0.1.</summary>
        internal static Trainer SumTrainer(Context context, TrainerOptions options = null)
        {
            options = options ?? new TrainerOptions();
            options.Loss = Loss.MeanSquaredError;
            options.LearningRate = 0.1;
            return Sum(context).Attach(Two, options);
        }

        /// <summary>Two samples [3, 4] with the value 10: the sum has output 11, loss 1 and
        /// gradient [6, 8].</summary>
        internal static Batch SumBatch(Context context)
        {
            using (Tensor inputs = Tensor.Create(context, Device.Cpu(), new float[,] { { 3, 4 }, { 3, 4 } }))
            using (Tensor values = Tensor.Create(context, Device.Cpu(), new float[,] { { 10 }, { 10 } }))
                return new Batch(inputs, values);
        }

        /// <summary>A perceptron for samples [1, 4, 4] of 3 classes.</summary>
        internal static Model Mlp(Context context)
        {
            var options = new ModelOptions { InputHeight = 4, InputWidth = 4, Classes = 3, Hidden = 8 };
            return Model.Create(context, "mlp", options);
        }

        /// <summary>Samples for the perceptron.</summary>
        internal static Dataset Synthetic(Context context, long n = 96) =>
            Dataset.CreateSynthetic(context, new long[] { 1, 4, 4 }, n, 3, 7);

        /// <summary>A loader of samples for the perceptron, 8 per batch.</summary>
        internal static Loader Loader(Context context, long n = 96, bool shuffle = false) =>
            new Loader(Synthetic(context, n), new LoaderOptions { Batch = 8, Shuffle = shuffle });

        /// <summary>A source of n samples [2]: sample i is [i, -i] with label i modulo 2.</summary>
        internal static Source Numbers(ReadHandler read = null, long n = 10) =>
            new Source { Dims = new long[] { 2 }, N = n, Classes = 2, Read = read ?? ReadNumbers };

        internal static long ReadNumbers(ReadRequest request)
        {
            for (int i = 0; i < request.N; ++i)
            {
                long sample = request.Indices[i];
                request.SetInputs(i, sample, -sample);
                request.SetLabels(i, (int)(sample % 2));
            }
            return request.N;
        }

        /// <summary>A classifier of 2 classes for samples [2].</summary>
        internal static Trainer NumbersTrainer(Context context)
        {
            Model model = Model.CreateEmpty(context, "numbers");
            model.SetOutput(model.AddLinear("fc", model.AddInput("x", 2), 2));
            return model.Attach(One, new TrainerOptions { LearningRate = 0.001 });
        }
    }
}
