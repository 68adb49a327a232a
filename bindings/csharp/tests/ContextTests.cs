using System;
using System.Linq;

namespace Troika.Tests
{
    internal static class LibraryTests
    {
        [Test]
        private static void VersionAndBuild()
        {
            Expect.True(Library.Version >= new Version(1, 1, 0) && Library.Version.Major == 1, "version " + Library.Version);
            Expect.Contains(Library.BuildInfo, Library.Version.ToString());
            Expect.Equal(Library.MaxRank, 8);
        }

        [Test]
        private static void ZooNames()
        {
            Expect.True(Zoo.Names.Contains("d2l_lenet") && Zoo.Names.Contains("char_lstm"), string.Join(",", Zoo.Names));
            using (var context = new Context())
                foreach (string name in new[] { "mlp", "d2l_lenet" })
                    Expect.Equal(Model.Create(context, name).Info.Name, name);
        }

        [Test]
        private static void StatusNames()
        {
            Expect.Equal(new TroikaException(Status.Busy, "busy").StatusName, "TROIKA_ERROR_BUSY");
            Expect.Equal(new TroikaException((Status)99, "?").StatusName, "unknown status");
        }

        /// <summary>A nullable option is null by default, and no other option is unset, except
        /// those that must be set.</summary>
        [Test]
        private static void DefaultsComeFromTheLibrary()
        {
            var mustBeSet = new[] { "LoaderOptions.Batch", "Conv2dOptions.OutChannels", "Conv2dOptions.Kernel", "Pool2dOptions.Kernel" };
            object[] all =
            {
                new Arrays(), new ContextOptions(), new Conv2dOptions(), new DatasetOptions(), new ForwardOptions(), new GroupOptions(),
                new LoadOptions(), new LoaderOptions(), new LoaderPosition(), new ModelOptions(), new ParameterGroup(), new PlanOptions(),
                new Pool2dOptions(), new SaveOptions(), new Source(), new TrainerOptions(), new Mesh(),
            };
            int nullable = 0;
            foreach (object options in all)
                foreach (var property in options.GetType().GetProperties())
                {
                    object value = property.GetValue(options);
                    string name = options.GetType().Name + "." + property.Name;
                    bool isNullable = Nullable.GetUnderlyingType(property.PropertyType) != null;
                    nullable += isNullable ? 1 : 0;
                    Expect.True(!isNullable || value == null, name + " is " + value);
                    string text = Convert.ToString(value, System.Globalization.CultureInfo.InvariantCulture);
                    Expect.Equal(text.StartsWith("-2147483648"), mustBeSet.Contains(name));
                }
            Expect.Equal(nullable, 32);
            var trainer = new TrainerOptions();
            Expect.Equal(trainer.LearningRate, 0.1);
            Expect.Equal(trainer.BucketBytes, 1 << 20);
            Expect.Equal(trainer.Loss, Loss.CrossEntropy);
            Expect.Equal(trainer.Optimizer, Optimizer.Sgd);
            Expect.Equal(trainer.Mesh.Layer, 1);
            Expect.Equal(trainer.Groups.Count, 0);
            Expect.Equal(new LoaderOptions().Prefetch, 2);
            Expect.Equal(new DatasetOptions().Std, 1.0);
            Expect.Equal(new Conv2dOptions().Stride, new Size2d(1, 1));
            Expect.Equal(new ParameterGroup().LearningRate, -1.0);
        }
    }

    internal static class ContextTests
    {
        [Test]
        private static void Devices()
        {
            using (var context = new Context())
            {
                Expect.Contains(context.DescribeBackends(), "cpu");
                Expect.True(context.DeviceCount(DeviceKind.Cpu) >= 8, "CPU devices");
                DeviceInfo info = context.DescribeDevice(Device.Cpu());
                Expect.True(info.Cores >= 1 && info.MemoryBytes > 0 && info.FreeBytes > 0 && info.Name.Length > 0, "device");
                bool hasGpu = context.DeviceCount(DeviceKind.Cuda) > 0;
                Expect.Equal(context.TryDevice().Kind, hasGpu ? DeviceKind.Cuda : DeviceKind.Cpu);
                Expect.Equal(context.AllDevices().Count, hasGpu ? context.DeviceCount(DeviceKind.Cuda) : 1);
                Expect.Equal(context.AllDevices()[0], context.TryDevice());
                Expect.Fails(Status.DeviceUnavailable, () => context.DescribeDevice(Device.Cuda(77)));
                Expect.Fails(Status.InvalidArgument, () => context.DeviceCount((DeviceKind)9));
            }
        }

        [Test]
        private static void Options()
        {
            var options = new ContextOptions { CpuThreads = 1, Seed = 3, PredictThreads = 1, Backends = "cpu", CacheFolder = "" };
            using (var context = new Context(options))
            using (Tensor tensor = new Tensor(context, Device.Cpu(), Dtype.F32, 2))
            {
                Expect.Equal(tensor.Context, context);
                Expect.Equal(context.Context, context);
            }
            Expect.Fails(Status.InvalidArgument, () => new Context(new ContextOptions { CpuThreads = 0 }), "cpu_threads");
            Expect.Fails(Status.InvalidArgument, () => new Context(new ContextOptions { Backends = "é" }), "é");
            Expect.Throws<ArgumentException>(() => new Context(new ContextOptions { Backends = "cpu\0x" }), "ContextOptions.Backends has a NUL at index 3");
            Expect.Throws<ArgumentException>(() => new Context(new ContextOptions { Backends = "\ud800" }), "half of a character");
        }

        [Test]
        private static void DeviceText()
        {
            Expect.Equal(Device.Parse("cpu:1"), Device.Cpu(1));
            Expect.Equal(Device.Parse("cuda"), Device.Cuda());
            Expect.Equal(Device.Cuda(3).ToString(), "cuda:3");
            Expect.Equal(default(Device).ToString(), "0:0");
            Expect.Equal(new Device(DeviceKind.Cpu, 2).Index, 2);
            Expect.True(Device.Cpu(1) == Device.Parse("cpu:1") && Device.Cpu(1) != Device.Cuda(1), "equality");
            Expect.True(Device.Cpu(1).Equals((object)Device.Cpu(1)) && !Device.Cpu(1).Equals("cpu:1"), "equality of objects");
            Expect.Equal(Device.Cpu(1).GetHashCode(), Device.Parse("cpu:1").GetHashCode());
            Expect.Fails(Status.InvalidArgument, () => Device.Parse("gpu:0"), "gpu:0");
            Expect.Throws<ArgumentNullException>(() => Device.Parse(null), "Device.Parse: text is null");
        }

        [Test]
        private static void SmallValues()
        {
            Size2d size = 3;
            Expect.True(size == new Size2d(3, 3) && size != new Size2d(3, 2), "equality");
            Expect.True(size.Equals((object)new Size2d(3, 3)) && !size.Equals((object)3), "equality of objects");
            Expect.Equal(size.GetHashCode(), new Size2d(3, 3).GetHashCode());
            Expect.Equal(new Size2d(3, 2).ToString(), "3x2");
            Expect.Equal(new Size2d(3, 2).Height - new Size2d(3, 2).Width, 1);
        }
    }
}
