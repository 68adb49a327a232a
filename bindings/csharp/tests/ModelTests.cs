using System;
using System.IO;
using System.Linq;

namespace Troika.Tests
{
    internal static class ModelTests
    {
        private static readonly Context Context = new Context();
        private static readonly Device Cpu = Device.Cpu();

        [Test]
        private static void Infos()
        {
            Model model = Samples.Mlp(Context);
            ModelInfo info = model.Info;
            Expect.Equal(info.Name, "mlp");
            Expect.Equal(info.IsComplete, true);
            Expect.List(info.InputDims, 1, 4, 4);
            Expect.List(info.OutputDims, 3);
            Expect.Equal(info.InputDtype, Dtype.F32);
            Expect.Equal(info.Parameters, 16 * 8 + 8 + 8 * 3 + 3);
            Expect.Equal(info.Entries, 4);
            Expect.Equal(model.CountParameters(), (info.Entries, info.Parameters));
            Expect.Equal(model.Layers.Count, info.Layers);
            Expect.Equal(model.DescribeLayer(0).Kind, "input");
            LayerInfo last = model.Layers.Last();
            Expect.Equal(last.Kind, "linear");
            Expect.Equal(last.Parameters, 27);
            Expect.List(last.Dims, 3);
            Expect.Equal(last.Inputs.Count, 1);
            Expect.Equal(model.FindLayer(last.Name), info.Layers - 1);
            Expect.Fails(Status.NotFound, () => model.FindLayer("fc9"));
            ValueInfo value = model.DescribeValue(last.Output);
            Expect.Equal(value.Layer, info.Layers - 1);
            Expect.List(value.Dims, 3);
            Expect.True(value.Layer > 0 && last.Output.Id != 0 && default(Value).Id == 0, "values");
            Expect.True(last.Output == model.Layers.Last().Output && last.Output != last.Inputs[0], "equality");
            Expect.True(last.Output.Equals((object)last.Output) && !last.Output.Equals("fc"), "equality of objects");
            Expect.Equal(last.Output.GetHashCode(), model.Layers.Last().Output.GetHashCode());
            Expect.Fails(Status.InvalidArgument, () => model.DescribeValue(default(Value)));
            ParameterInfo first = model.Parameters[0];
            Expect.List(first.Dims, 8, 16);
            Expect.Equal(first.Name, model.DescribeParameter(0).Name);
            Expect.Equal(first.IsInitialized, false);
            Expect.Fails(Status.NotFound, () => model.DescribeParameter(4));
            Expect.Equal(model.FindParameter(model.Parameters[2].Name), 2);
            Expect.Fails(Status.NotFound, () => model.FindParameter("fc1.weigh"));
            Expect.Contains(model.Print(), last.Name);
            Expect.Contains(model.ToJson(), "\"name\":\"mlp\"");
            Expect.True(Model.Create(Context, "resnet50").Print().Length > 4096, "a text that needs a larger buffer");
        }

        [Test]
        private static void Errors()
        {
            Expect.Fails(Status.NotFound, () => Model.Create(Context, "alexnet"), "mlp");
            Expect.Fails(Status.InvalidArgument, () => Model.Create(Context, "mlp", new ModelOptions { Classes = 0 }), "classes");
            Expect.Throws<ArgumentNullException>(() => Model.Create(Context, null), "Model.Create: name is null");
            Expect.Throws<ArgumentException>(() => Model.Create(Context, "a\0b"), "NUL at index 1");
            Model empty = Model.CreateEmpty(Context, "empty");
            Expect.Equal(empty.Info.InputDtype, null);
            Expect.Fails(Status.InvalidArgument, () => empty.Attach(Samples.One));
            Expect.Throws<ArgumentException>(() => empty.Predict(Cpu, new float[1]), "the model needs an input");
        }

        /// <summary>Every kind of layer, with the shapes that they make.</summary>
        [Test]
        private static void Layers()
        {
            Model image = Model.CreateEmpty(Context, "image");
            Value x = image.AddInput("x", 1, 8, 8);
            x = image.AddConv2d("conv", x, new Conv2dOptions { OutChannels = 4, Kernel = 3, Padding = 1, NoBias = true });
            x = image.AddBatchNorm2d("bn", x);
            Value relu = image.AddRelu("relu", x);
            x = image.AddSum("sum", relu, image.AddGelu("gelu", relu));
            x = image.AddMaxPool2d("max", x, new Pool2dOptions { Kernel = 2 });
            x = image.AddAvgPool2d("avg", x, new Pool2dOptions { Kernel = new Size2d(2, 1), Stride = 1, ExcludePadding = true });
            Expect.List(image.DescribeValue(x).Dims, 4, 3, 4);
            x = image.AddAdaptiveAvgPool2d("adaptive", x, 1, 2);
            x = image.AddDropout("dropout", x, 0.5);
            x = image.AddFlatten("flatten", x);
            Expect.List(image.DescribeValue(x).Dims, 8);
            x = image.AddLinear("fc", x, 3);
            Expect.Fails(Status.InvalidArgument, () => image.AddRelu("fc", x), "fc");
            Expect.Equal(image.Info.IsComplete, false);
            image.SetOutput(x);
            Expect.Equal(image.Info.IsComplete, true);
            Expect.Equal(image.Info.Parameters, 4 * 9 + 8 + 8 * 3 + 3);
            image.InitializeDefault(1);
            var tracked = new long[] { -1 };
            image.GetParameter("bn.num_batches_tracked", tracked);
            Expect.Equal(tracked[0], 0);
            image.SetParameter("bn.num_batches_tracked", new long[] { 5 });
            image.GetParameter("bn.num_batches_tracked", tracked);
            Expect.Equal(tracked[0], 5);
            Expect.Throws<ArgumentException>(() => image.GetParameter("bn.num_batches_tracked"), "has elements of I64, not of F32");

            ScoreReport report = ScoreReport.Compute(new float[] { 3, 1, 0, 2, 5, 1 }, new[] { 0, 1, 1 });
            Expect.Equal(report.All.Accuracy, 2.0 / 3);
            Expect.List(report.Confusion, 1, 0, 1, 1);
            Expect.Equal(report.Classes[0].Precision, 0.5);
            Expect.Fails(Status.InvalidArgument, () => ScoreReport.Compute(new float[] { 3, 1 }, new[] { 7 }), "is 7");

            Model signal = Model.CreateEmpty(Context, "signal");
            x = signal.AddConv1d("conv", signal.AddInput("x", 4, 16), new Conv1dOptions { OutChannels = 6, Kernel = 3 });
            x = signal.AddSlice("slice", signal.AddLayerNorm("layer", signal.AddBatchNorm1d("bn", x), 1), 2, 0, 12);
            x = signal.AddProduct("product", signal.AddSigmoid("sigmoid", x), signal.AddTanh("tanh", x));
            x = signal.AddGroupNorm("group", signal.AddReshape("image", x, 6, 4, -1), 2);
            Expect.List(signal.DescribeValue(x).Dims, 6, 4, 3);
            x = signal.AddConvTranspose2d("up", x, new Conv2dOptions { OutChannels = 4, Kernel = 2, Stride = 2 });
            x = signal.AddSoftmax("softmax", signal.AddLeakyRelu("leaky", signal.AddSilu("silu", x)));
            x = signal.AddConcat("concat", 1, x, x);
            Expect.List(signal.DescribeValue(x).Dims, 8, 8, 6);
            x = signal.AddRmsNorm("rms", signal.AddMean("mean", x, new[] { 2, 3 }), 1);
            x = signal.AddLinear("a", x, 8);
            signal.ShareParameter("b.weight", "a.weight");
            signal.SetOutput(signal.AddLinear("b", x, 8));
            signal.InitializeDefault(1);
            signal.InitializeLayers("linear", "weight", Initializer.Constant, 0.5);
            Expect.Equal(signal.GetParameter("b.weight")[63], 0.5f);
            Expect.Fails(Status.InvalidArgument, () => signal.ShareParameter("c.weight", "a.weight"), "complete");

            Model text = Model.CreateEmpty(Context, "text");
            Value y = text.AddTypedInput("tokens", Dtype.I32, 5);
            y = text.AddEmbedding("embedding", y, 10, 6);
            y = text.AddLstm("lstm", y, 7);
            y = text.AddGru("gru", y, 4, bias: false);
            y = text.AddLinearPerPosition("each", y, 3);
            Expect.List(text.DescribeValue(y).Dims, 5, 3);
            y = text.AddSelectStep("last", y, -1);
            text.SetOutput(y);
            text.InitializeDefault();
            Expect.Equal(text.Predict(Cpu, new[] { 1, 2, 3, 4, 5 }).Length, 3);
            Expect.Equal(text.Predict(Cpu, new[] { 1, 2, 3, 4, 5 }, "each").Length, 15);
            var output = new float[3];
            text.PredictInto(Cpu, new[] { 1, 2, 3, 4, 5 }, output);
            Expect.List(output, text.Predict(Cpu, new[] { 1, 2, 3, 4, 5 }));
            Expect.Throws<ArgumentException>(() => text.Predict(Cpu, new float[5]), "inputs are F32, the model needs I32");
            Expect.Throws<ArgumentException>(() => text.Predict(Cpu, new int[4]), "has 4 elements, need samples of 5");
            Expect.Fails(Status.InvalidArgument, () => text.PredictInto(Cpu, new int[5], new float[2]));
        }

        [Test]
        private static void Parameters()
        {
            Model model = Samples.Sum(Context);
            Expect.List(model.GetParameter("fc.weight"), 1f, 2f);
            Expect.List(model.Predict(Cpu, new float[] { 3, 4, 1, 1 }), 11f, 3f);
            model.Initialize("fc.*", Initializer.Constant, 0.5);
            Expect.List(model.GetParameter("fc.weight"), 0.5f, 0.5f);
            model.Initialize(null, Initializer.Uniform, 0.1, 3);
            Expect.True(model.GetParameter("fc.weight").All(w => w > -0.1 && w < 0.1), "uniform");
            Expect.Fails(Status.NotFound, () => model.Initialize("x.*", Initializer.Constant));
            Expect.Fails(Status.NotFound, () => model.GetParameter("fc.wieght"), "fc.wieght");
            Expect.Fails(Status.InvalidArgument, () => model.SetParameter("fc.weight", new float[3]));
            Expect.Fails(Status.InvalidArgument, () => model.GetParameter("fc.weight", new float[1]));
            Expect.Throws<ArgumentException>(() => model.SetParameter("fc.weight", new long[1]), "fc.weight has elements of F32");
            Expect.Fails(Status.NotInitialized, () => Samples.Mlp(Context).GetParameter(Samples.Mlp(Context).Parameters[0].Name));
        }

        [Test]
        private static void Predictions()
        {
            Model model = Samples.Sum(Context);
            using (Tensor input = Tensor.Create(Context, Device.Cpu(1), new float[,] { { 3, 4 } }))
            using (Tensor output = model.Predict(Cpu, input))
            {
                Expect.List(output.Info.Dims, 1, 1);
                Expect.List(output.ToArray<float>(), 11f);
            }
            Span<float> results = new float[2];
            model.PredictInto(Cpu, (ReadOnlySpan<float>)new float[] { 1, 0, 0, 1 }, results);
            Expect.List(results.ToArray(), 1f, 2f);
            var array = new float[1];
            model.PredictInto(Cpu, new float[] { 0, 5 }, array, "fc");
            Expect.List(array, 10f);
            Expect.Fails(Status.NotFound, () => model.Predict(Cpu, new float[2], "fc2"));
            Expect.Throws<ArgumentNullException>(() => model.Predict(Cpu, (Tensor)null), "Model.Predict: input is null");
        }

        [Test]
        private static void Files()
        {
            Model model = Samples.Sum(Context);
            model.Save("sum.safetensors");
            Expect.List(Model.Open(Context, "sum.safetensors").GetParameter("fc.weight"), 1f, 2f);
            byte[] bytes = model.SaveMemory();
            Expect.List(bytes, File.ReadAllBytes("sum.safetensors"));
            Expect.List(Model.OpenMemory(Context, bytes).GetParameter("fc.weight"), 1f, 2f);
            Expect.Contains(Troika.Files.Inspect("sum.safetensors"), "fc.weight F32 [1, 2]");
            Model clone = model.Clone();
            clone.SetParameter("fc.weight", new float[] { 7, 8 });
            Expect.List(model.GetParameter("fc.weight"), 7f, 8f);
            LoadReport report = model.Load("sum.safetensors");
            Expect.Equal(report.Loaded, 1);
            Expect.List(model.GetParameter("fc.weight"), 1f, 2f);
            Expect.Equal(clone.LoadMemory(bytes, new LoadOptions { AllowPartial = true }).Missing, 0);
            Expect.Throws<LoadException>(() => clone.LoadMemory(bytes, new LoadOptions { StripPrefix = "net." }), "'net.'");
            Expect.Fails(Status.NotFound, () => model.Load("none.safetensors"));
            Expect.Fails(Status.NotFound, () => Model.Open(Context, "none.safetensors"), "none.safetensors");
            Expect.Fails(Status.NotFound, () => Troika.Files.Inspect("none.safetensors"));
            Expect.Fails(Status.Corrupt, () => Model.OpenMemory(Context, new byte[100]));
            Expect.Fails(Status.Corrupt, () => model.LoadMemory(new byte[100]));
            Expect.Fails(Status.Io, () => model.Save("no/such/folder/x"));
        }

        /// <summary>A refused file changes nothing, and the exception says what differs.</summary>
        [Test]
        private static void MismatchHasTheReport()
        {
            Model other = Model.CreateEmpty(Context, "other");
            other.SetOutput(other.AddLinear("head", other.AddInput("x", 2), 1));
            other.InitializeDefault();
            float[] before = other.GetParameter("head.weight");
            byte[] bytes = Samples.Sum(Context).SaveMemory();
            var thrown = Expect.Throws<LoadException>(() => other.LoadMemory(bytes), "head.weight");
            Expect.Equal(thrown.Status, Status.Mismatch);
            Expect.Equal(thrown.Report.Missing, 2);
            Expect.Equal(thrown.Report.Unexpected, 1);
            Expect.Contains(thrown.Report.Names, "unexpected fc.weight");
            Expect.List(other.GetParameter("head.weight"), before);
        }

        [Test]
        private static void Plans()
        {
            Model model = Samples.Mlp(Context);
            var options = new PlanOptions { Devices = 2, Batch = 8, Trainer = new TrainerOptions { Momentum = 0.9 } };
            PlanResult plan = model.EstimatePlan(options, new Mesh { Data = 2, Layer = 1, Channel = 1 });
            Expect.Equal(plan.Mesh.Data, 2);
            Expect.Equal(plan.Fits, true);
            Expect.True(plan.ParameterBytes >= model.Info.Parameters * 4, "bytes of parameters");
            Expect.Equal(plan.OptimizerBytes, plan.ParameterBytes);
            Expect.Equal(model.EstimatePlan(new PlanOptions { Devices = 2 }).OptimizerBytes, 0);
            Expect.True(plan.Seconds > 0, "seconds");
            Expect.Equal(model.EstimatePlan().Mesh.Data, 1);
            PlanResult best = model.ChoosePlan(options);
            Expect.Equal(best.Mesh.Data * best.Mesh.Layer * best.Mesh.Channel, 2);
            Expect.Fails(Status.NotFound, () => model.ChoosePlan(new PlanOptions { MemoryBytes = 1 }));
            Expect.Equal(new PlanOptions().DeviceKind, null);
            Expect.Equal(new PlanOptions().OperationsPerSecond, null);
        }
    }
}
