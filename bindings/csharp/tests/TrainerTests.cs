using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Threading.Tasks;

namespace Troika.Tests
{
    internal static class TrainerTests
    {
        private static readonly Context Context = new Context();

        /// <summary>Loss, gradient and update of a step are known.</summary>
        [Test]
        private static void Step()
        {
            using (Trainer trainer = Samples.SumTrainer(Context))
            using (Batch batch = Samples.SumBatch(Context))
            {
                StepResult result = trainer.Step(batch);
                Expect.Equal(result.Status, Status.Ok);
                Expect.Near(result.Loss, 1);
                Expect.Equal(result.Samples, 2);
                Expect.Equal(result.Step, 1);
                Expect.Equal(result.LearningRate, 0.1);
                Near(trainer.GetGradient("fc.weight"), 6, 8);
                Near(trainer.GetParameter("fc.weight", Device.Cpu(1)), 0.4, 1.2);
                Near(trainer.Model.GetParameter("fc.weight"), 0.4, 1.2);
                Near(trainer.Unwrap().Predict(Device.Cpu(), new float[] { 1, 1 }), 1.6);
                Expect.Near(trainer.EvaluateBatch(batch).Loss, Math.Pow(3 * 0.4 + 4 * 1.2 - 10, 2), 1e-4);
                trainer.CheckReplicas();
                Expect.True(trainer.Memory(1).ParameterBytes >= 8 && trainer.Memory(1).Plans >= 1, "memory");
                Expect.Fails(Status.NotFound, () => trainer.Memory(2));
                Expect.Fails(Status.NotFound, () => trainer.GetGradient("fc.bias"));
                Expect.Fails(Status.InvalidArgument, () => trainer.GetGradient("fc.weight", new float[3]));
                Expect.Fails(Status.NotOnDevice, () => trainer.GetParameter("fc.weight", Device.Cpu(7)), "cpu:7");
            }
        }

        private static void Near(IReadOnlyList<float> found, params double[] wanted)
        {
            Expect.Equal(found.Count, wanted.Length);
            for (int i = 0; i < wanted.Length; ++i)
                Expect.Near(found[i], wanted[i], 1e-5);
        }

        [Test]
        private static void Infos()
        {
            var options = new TrainerOptions
            {
                Groups = new[] { new ParameterGroup { Pattern = "fc.*", LearningRate = 0.01, Momentum = 0.5 } },
                Momentum = 0.9, Schedule = Schedule.MultiStep, ScheduleMilestones = new long[] { 5, 9 },
                IgnoreIndex = null, Mesh = new Mesh { Data = 2 },
            };
            using (Trainer trainer = Samples.SumTrainer(Context, options))
            {
                TrainerInfo info = trainer.Info;
                Expect.Equal(info.DeviceCount, 2);
                Expect.Equal(info.Mesh.Data, 2);
                Expect.Equal(info.Mesh.Channel, 1);
                Expect.Equal(info.TrainedElements, 2);
                Expect.Equal(info.IsUsable, true);
                Expect.List(trainer.Devices, Samples.Two);
                TrainerOptions used = trainer.Options;
                Expect.Equal(used.Momentum, 0.9);
                Expect.Equal(used.Loss, Loss.MeanSquaredError);
                Expect.List(used.ScheduleMilestones, 5, 9);
                Expect.Equal(used.Groups.Count, 1);
                Expect.Equal(used.Groups[0].Pattern, "fc.*");
                Expect.Equal(used.Groups[0].LearningRate, 0.01);
                Expect.Equal(used.Groups[0].Momentum, 0.5);
                Expect.Equal(used.IgnoreIndex, null);
                Expect.Equal(used.Group, null);
                Expect.Contains(trainer.ToJson(), "\"momentum\":0.9");
                Expect.Equal(Samples.Sum(Context).Attach(Samples.Two, used).Options.Momentum, 0.9);
            }
            Expect.Fails(Status.InvalidArgument, () => Samples.SumTrainer(Context, new TrainerOptions { Momentum = 2 }), "momentum");
            Expect.Fails(Status.InvalidArgument, () => Samples.Sum(Context).Attach(new Device[0]));
            Expect.Throws<ArgumentNullException>(() => Samples.Sum(Context).Attach(null), "Model.Attach: devices is null");
        }

        [Test]
        private static void Settings()
        {
            var options = new TrainerOptions
            {
                Groups = new List<ParameterGroup> { new ParameterGroup { Pattern = "*" } },
                Schedule = Schedule.Plateau, SchedulePatience = 0, ScheduleGamma = 0.5,
            };
            using (Trainer trainer = Samples.SumTrainer(Context, options))
            {
                Expect.Equal(trainer.GetLearningRate(), 0.1);
                trainer.ReportMetric(1);
                trainer.ReportMetric(2);
                Expect.Near(trainer.GetLearningRate(), 0.05);
                trainer.SetLearningRate(0.2);
                Expect.Equal(trainer.GetOption(Option.LearningRate), 0.2);
                trainer.SetOption(Option.WeightDecay, 0.25, 0);
                Expect.Equal(trainer.GetOption(Option.WeightDecay, 0), 0.25);
                Expect.Equal(trainer.GetOption(Option.WeightDecay), 0.0);
                Expect.Fails(Status.InvalidArgument, () => trainer.SetOption(Option.Beta1, 0.5));
                Expect.Fails(Status.InvalidArgument, () => trainer.SetLearningRate(0.1, 1));
                Expect.Fails(Status.InvalidArgument, () => trainer.ReportMetric(double.NaN));
            }
        }

        [Test]
        private static void Epochs()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
            using (Loader loader = Samples.Loader(Context))
            {
                Metrics first = trainer.TrainEpoch(loader);
                Expect.Equal(first.Status, Status.Ok);
                Expect.Equal(first.Samples, 96);
                Expect.Equal(first.Labels, 96);
                Expect.Near(first.Accuracy, first.Correct / 96.0);
                Expect.Equal(trainer.Info.Step, 12);
                Metrics part = trainer.TrainBatches(loader, 5);
                Expect.Equal(part.Samples, 40);
                Expect.Equal(part.Status, Status.Ok);
                Metrics rest = trainer.TrainBatches(loader, 100);
                Expect.Equal(rest.Samples, 56);
                Expect.Equal(rest.Status, Status.EndOfData);
                Metrics tested = trainer.Evaluate(loader);
                Expect.True(tested.Loss < first.Loss, "the loss falls");
                Expect.Near(trainer.EvaluateOn(Device.Cpu(1), loader).Loss, tested.Loss, 1e-5);
                Expect.Fails(Status.NotOnDevice, () => trainer.EvaluateOn(Device.Cpu(5), loader));
                trainer.DivideLoader(loader);
                Expect.Equal(trainer.TrainEpochAsync(loader).Result.Samples, 96);
                Expect.Equal(trainer.TrainBatchesAsync(loader, 1).Result.Samples, 8);
                Expect.Equal(trainer.EvaluateAsync(loader).Result.Samples, 96);
                Expect.Throws<ArgumentNullException>(() => trainer.TrainEpoch(null), "Trainer: loader is null");
            }
        }

        /// <summary>An epoch and a loop of steps have the same bits.</summary>
        [Test]
        private static void LoopOfSteps()
        {
            float[][] results = new float[2][];
            for (int way = 0; way < 2; ++way)
                using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.Two))
                using (Loader loader = Samples.Loader(Context, shuffle: true))
                {
                    if (way == 0)
                        trainer.TrainEpoch(loader);
                    else
                        foreach (Batch batch in loader)
                            trainer.Step(batch);
                    results[way] = trainer.Model.GetParameter(trainer.Model.Parameters[0].Name);
                }
            Expect.List(results[0], results[1]);
        }

        [Test]
        private static void Predictions()
        {
            using (Trainer trainer = Samples.SumTrainer(Context))
            using (Batch batch = Samples.SumBatch(Context))
            {
                Near(trainer.PredictBatch(batch), 11, 11);
                Span<float> span = new float[2];
                trainer.PredictBatch(batch, span);
                Expect.List(span.ToArray(), 11f, 11f);
                using (Tensor input = Tensor.Create(Context, Device.Cpu(), new float[,] { { 1, 0 }, { 0, 1 }, { 1, 1 } }))
                using (Tensor output = trainer.Predict(input))
                    Near(output.ToArray<float>(), 1, 2, 3);
                Dataset dataset = Dataset.CreateArrays(Context, new float[] { 1, 0, 0, 1, 1, 1 }, new long[] { 2 }, new float[3]);
                using (var loader = new Loader(dataset, new LoaderOptions { Batch = 2 }))
                {
                    var all = new float[3];
                    Expect.Equal(trainer.PredictLoader(loader, all), (3L, Status.Ok));
                    Near(all, 1, 2, 3);
                    Expect.Equal(trainer.PredictLoader(loader, (Span<float>)all).Samples, 3L);
                    Expect.Fails(Status.InvalidArgument, () => trainer.PredictLoader(loader, new float[2]));
                }
                Expect.Fails(Status.InvalidArgument, () => trainer.PredictBatch(batch, new float[3]));
            }
        }

        /// <summary>The pieces with nothing in between are a step; a gradient can be
        /// replaced.</summary>
        [Test]
        private static void Pieces()
        {
            using (Trainer trainer = Samples.SumTrainer(Context))
            using (Batch batch = Samples.SumBatch(Context))
            {
                (Tensor output, StepResult forward) = trainer.Forward(batch, new ForwardOptions { InputGradient = true });
                Near(output.ToArray<float>(), 11, 11);
                Expect.Near(forward.Loss, 1);
                trainer.Backward();
                var inputGradient = new float[4];
                trainer.GetInputGradient(inputGradient);
                Near(inputGradient, 1, 2, 1, 2);
                Near(trainer.GetGradient("fc.weight"), 6, 8);
                trainer.SetGradient("fc.weight", new float[] { 1, -1 });
                Expect.Equal(trainer.Apply().Step, 1);
                Near(trainer.GetParameter("fc.weight", Device.Cpu()), 0.9, 2.1);

                trainer.Forward(batch, new ForwardOptions { OwnLoss = true }).Output.Dispose();
                using (Tensor gradient = Tensor.Create(Context, Device.Cpu(), new float[,] { { 1 }, { 0 } }))
                    trainer.Backward(gradient);
                trainer.Apply();
                Near(trainer.GetParameter("fc.weight", Device.Cpu()), 0.6, 1.7);
                Expect.Fails(Status.NotInitialized, () => trainer.Apply());
                Expect.Fails(Status.NotInitialized, () => trainer.Backward());
            }
        }

        [Test]
        private static void AsyncSteps()
        {
            using (Trainer trainer = Samples.SumTrainer(Context))
            using (Batch batch = Samples.SumBatch(Context))
            {
                Task<StepResult>[] steps = Enumerable.Range(0, 10).Select(_ => trainer.StepAsync(batch)).ToArray();
                StepResult[] results = Task.WhenAll(steps).Result;
                Expect.List(results.Select(result => result.Step), Enumerable.Range(1, 10).Select(i => (long)i).ToArray());
                Expect.Near(results[0].Loss, 1);
                using (Pending pending = trainer.StartStep(batch))
                {
                    Expect.Equal(pending.Wait().Step, 11);
                    Expect.Equal(pending.IsDone, true);
                    Expect.True(pending.TryWait(TimeSpan.Zero, out StepResult again) && again.Step == 11, "the same result");
                }
                Task<StepResult> awaited = StepTwice(trainer, batch);
                Expect.Equal(awaited.Result.Step, 13);
                trainer.RequestStop();
                Expect.Equal(trainer.StepAsync(batch).Result.Status, Status.Stopped);
                Batch wrong = Samples.Loader(Context).First().Copy();
                var failed = Expect.Throws<TroikaException>(() => trainer.StepAsync(wrong).GetAwaiter().GetResult(), "need");
                Expect.Equal(failed.Status, Status.InvalidArgument);
                Expect.Throws<ArgumentNullException>(() => trainer.StepAsync(null), "batch is null");
            }
        }

        private static async Task<StepResult> StepTwice(Trainer trainer, Batch batch)
        {
            await trainer.StepAsync(batch);
            return await trainer.StepAsync(batch);
        }

        [Test]
        private static void SkippedSteps()
        {
            using (Trainer trainer = Samples.SumTrainer(Context, new TrainerOptions { SkipNotFinite = true }))
            using (Tensor inputs = Tensor.Create(Context, Device.Cpu(), new float[,] { { float.PositiveInfinity, 1 } }))
            using (Tensor values = Tensor.Create(Context, Device.Cpu(), new float[,] { { 1 } }))
            using (var batch = new Batch(inputs, values))
            {
                Expect.Equal(trainer.Step(batch).Status, Status.StepSkipped);
                Near(trainer.Model.GetParameter("fc.weight"), 1, 2);
            }
        }

        [Test]
        private static void States()
        {
            var options = new TrainerOptions { Momentum = 0.5, AverageDecay = 0.5 };
            using (Trainer trainer = Samples.SumTrainer(Context, options))
            using (Batch batch = Samples.SumBatch(Context))
            {
                trainer.Step(batch);
                trainer.Save("state.safetensors");
                trainer.SaveAverage("average.safetensors");
                Near(Model.Open(Context, "average.safetensors").GetParameter("fc.weight"), 0.7, 1.6);
                trainer.SaveWith("kept.safetensors", new SaveOptions { Keep = 2, InBackground = true });
                trainer.WaitSave();
                Expect.Equal(Path.GetFileName(Files.Newest("kept.safetensors")), "kept-000000000001.safetensors");
                Expect.Fails(Status.NotFound, () => Files.Newest("other.safetensors"));
                using (Trainer resumed = Samples.SumTrainer(Context, options))
                {
                    LoaderPosition position = resumed.Load("state.safetensors");
                    Expect.Equal(position.Epoch, 0);
                    Expect.Equal(resumed.Info.Step, 1);
                    Expect.List(BitConverter.GetBytes(resumed.Step(batch).Loss), BitConverter.GetBytes(trainer.Step(batch).Loss));
                    Expect.List(resumed.Model.GetParameter("fc.weight"), trainer.Model.GetParameter("fc.weight"));
                }
                Expect.Fails(Status.NotFound, () => trainer.Load("none.safetensors"));
                Expect.Fails(Status.NotFound, () => trainer.LoadInAnyOrder("none.safetensors"));
                using (Trainer other = Samples.SumTrainer(Context, new TrainerOptions { Momentum = 0.25 }))
                    Expect.Fails(Status.Mismatch, () => other.Load("state.safetensors"));
                Expect.Fails(Status.Io, () => trainer.Save("no/such/folder/x"));
            }
            using (Trainer trainer = Samples.SumTrainer(Context))
                Expect.Fails(Status.InvalidArgument, () => trainer.SaveAverage("average.safetensors"), "average_decay");
        }

        [Test]
        private static void OrderAfterAState()
        {
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.One))
            using (Loader loader = Samples.Loader(Context))
            {
                trainer.TrainBatches(loader, 1);
                trainer.Save("order.safetensors");
            }
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.One))
            using (Loader shuffled = Samples.Loader(Context, shuffle: true))
            {
                LoaderPosition position = trainer.Load("order.safetensors");
                Expect.Equal(position.ToString(), "LoaderPosition { Epoch = 0, Batch = 1, Batches = 12 }");
                shuffled.Seek(position);
                Expect.Fails(Status.InvalidArgument, () => trainer.TrainBatches(shuffled, 1), "same shuffle");
                trainer.LoadInAnyOrder("order.safetensors");
                Expect.Equal(trainer.TrainBatches(shuffled, 1).Samples, 8);
                // A loader that is not moved is not compared.
                trainer.Load("order.safetensors");
                shuffled.Seek(new LoaderPosition());
                Expect.Equal(trainer.TrainBatches(shuffled, 1).Samples, 8);
            }
        }

        [Test]
        private static void Texts()
        {
            CultureInfo culture = CultureInfo.CurrentCulture;
            CultureInfo.CurrentCulture = new CultureInfo("de-DE");
            try
            {
                using (Trainer trainer = Samples.SumTrainer(Context))
                using (Batch batch = Samples.SumBatch(Context))
                {
                    StepResult result = trainer.Step(batch);
                    Expect.Contains(result.ToString(), "StepResult { Loss = 1, Samples = 2, Correct = 0, Step = 1, LearningRate = 0.1, ");
                    Expect.Contains(result.ToString(), "Labels = 2, Status = Ok }");
                    Expect.Equal(trainer.Model.Parameters[0].ToString(),
                        "ParameterInfo { Dtype = F32, IsBuffer = false, IsInitialized = true, Dims = [1, 2], Name = \"fc.weight\" }");
                    Expect.Contains(trainer.Info.ToString(), "Mesh = Mesh { Data = 2, Layer = 1, Channel = 1 }");
                    Expect.Contains(trainer.Options.ToString(), "LayerCuts = null");
                    Expect.Contains(trainer.Model.DescribeLayer(1).ToString(), "Inputs = [Value { Id = ");
                    Expect.Contains(ScoreReport.Compute(new float[] { 1, 0 }, new[] { 0 }).ToString(), "Confusion = [1, 0, 0, 0] }");
                }
            }
            finally
            {
                CultureInfo.CurrentCulture = culture;
            }
        }

        /// <summary>Every info and result says what it is.</summary>
        [Test]
        private static void EveryInfoHasAText()
        {
            var endings = new[] { "Info", "Result", "Report", "Scores", "Metrics", "Progress", "Position", "Mesh", "Group", "Value" };
            int found = 0;
            foreach (Type type in typeof(Context).Assembly.GetExportedTypes())
                if (endings.Any(type.Name.EndsWith) && !typeof(TroikaObject).IsAssignableFrom(type))
                {
                    Expect.Equal(type.GetMethod("ToString", Type.EmptyTypes).DeclaringType, type);
                    ++found;
                }
            Expect.True(found >= 20, found + " infos");
        }

        [Test]
        private static void Traces()
        {
            using (Trainer trainer = Samples.SumTrainer(Context, new TrainerOptions { CollectTrace = true }))
            using (Batch batch = Samples.SumBatch(Context))
            {
                Expect.Fails(Status.NotInitialized, () => trainer.Trace());
                trainer.Step(batch);
                Expect.True(trainer.Trace().Split('\n').Length > 2, "lines of a trace");
                trainer.SaveTrace("trace.json");
                Expect.Contains(File.ReadAllText("trace.json"), "traceEvents");
                Expect.Contains(trainer.Explain(2), "linear");
                Expect.Fails(Status.InvalidArgument, () => trainer.Explain(0));
            }
        }

        /// <summary>Buffers of i64 come from the trainer too.</summary>
        [Test]
        private static void Buffers()
        {
            Model model = Model.CreateEmpty(Context, "norm");
            Value x = model.AddBatchNorm2d("bn", model.AddInput("x", 1, 4, 4));
            model.SetOutput(model.AddLinear("fc", model.AddFlatten("flatten", x), 3));
            using (Trainer trainer = model.Attach(Samples.One))
            using (Loader loader = Samples.Loader(Context))
            {
                trainer.TrainBatches(loader, 3);
                var tracked = new long[1];
                trainer.GetParameter("bn.num_batches_tracked", Device.Cpu(), tracked);
                Expect.Equal(tracked[0], 3);
                var weight = new float[1];
                trainer.GetParameter("bn.weight", Device.Cpu(), weight);
                Expect.True(weight[0] != 0, "a weight");
            }
        }

        [Test]
        private static void EarlierTrainersAreDetached()
        {
            Model model = Samples.Mlp(Context);
            Trainer earlier = model.Attach(Samples.One);
            Trainer later = model.Attach(Samples.One);
            Loader loader = Samples.Loader(Context);
            Expect.Fails(Status.Detached, () => earlier.TrainEpoch(loader));
            Expect.Equal(later.TrainEpoch(loader).Samples, 96);
        }

        [Test]
        private static void TextsDoNotDependOnTheCulture()
        {
            CultureInfo before = CultureInfo.CurrentCulture;
            CultureInfo.CurrentCulture = new CultureInfo("de-DE");
            try
            {
                Expect.Equal(new Size2d(3, 2).ToString(), "3x2");
                Expect.Equal(Device.Cpu(1).ToString(), "cpu:1");
            }
            finally
            {
                CultureInfo.CurrentCulture = before;
            }
        }
    }

    internal static class GroupTests
    {
        /// <summary>A group of one process, whose collectives have known results.</summary>
        [Test]
        private static void Alone()
        {
            using (var context = new Context())
            using (var group = new Group(context, new GroupOptions { Rank = 0, Processes = 1 }))
            using (Tensor tensor = Tensor.Create(context, Device.Cpu(), new float[] { 1, 2 }))
            {
                Expect.Equal(group.Info.Processes, 1);
                Expect.Equal(group.Info.Rank, 0);
                group.Barrier();
                group.AllReduce(tensor);
                group.Broadcast(tensor);
                Expect.List(tensor.ToArray<float>(), 1f, 2f);
                Expect.List(group.AllGather(tensor).ToArray<float>(), 1f, 2f);
                Expect.List(group.ReduceScatter(tensor).ToArray<float>(), 1f, 2f);
                Expect.Fails(Status.InvalidArgument, () => group.Send(tensor, 5));
                Expect.Fails(Status.InvalidArgument, () => group.Receive(tensor, -1));
                Expect.Throws<ArgumentNullException>(() => group.AllReduce(null), "Group: tensor is null");
                using (Trainer trainer = Samples.SumTrainer(context, new TrainerOptions { Group = group }))
                    Expect.Equal(trainer.Options.Group, group);
                using (var loader = new Loader(Samples.Synthetic(context), new LoaderOptions { Batch = 8, Group = group }))
                    Expect.Equal(loader.First().Info.N, 8);
            }
            using (var context = new Context())
                Expect.Fails(Status.InvalidArgument, () => new Group(context, new GroupOptions { Rank = 1, Processes = 1 }));
        }
    }
}
