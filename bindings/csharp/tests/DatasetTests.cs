using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Troika.Tests
{
    internal static class DatasetTests
    {
        private static readonly Context Context = new Context();

        /// <summary>Reads a dataset as one batch.</summary>
        private static Batch ReadAll(Dataset dataset, LoaderOptions options = null)
        {
            options = options ?? new LoaderOptions();
            options.Batch = Math.Max(dataset.Info.N, 1);
            var loader = new Loader(dataset, options);
            Expect.Equal(loader.Next(out Batch batch), Status.Ok);
            return batch.Copy();
        }

        private static void WriteIdx(string path, int[] dims, byte[] data)
        {
            IEnumerable<byte> head = new byte[] { 0, 0, 8, (byte)dims.Length };
            foreach (int dim in dims)
                head = head.Concat(BitConverter.GetBytes(dim).Reverse());
            File.WriteAllBytes(path, head.Concat(data).ToArray());
        }

        [Test]
        private static void Idx()
        {
            Directory.CreateDirectory("idx");
            WriteIdx("idx/train-images-idx3-ubyte", new[] { 2, 1, 2 }, new byte[] { 0, 255, 51, 102 });
            WriteIdx("idx/train-labels-idx1-ubyte", new[] { 2 }, new byte[] { 1, 0 });
            Dataset dataset = Dataset.OpenDirectory(Context, "idx", "train");
            Expect.List(dataset.Info.Dims, 1, 1, 2);
            Batch batch = ReadAll(dataset);
            Expect.List(batch.GetInputs(), 0f, 1f, 0.2f, 0.4f);
            Expect.List(batch.GetLabels(), 1, 0);
            var options = new DatasetOptions { Mean = 0.5, Std = 0.5, ResizeHeight = 2, ResizeWidth = 2 };
            dataset = Dataset.OpenIdx(Context, "idx/train-images-idx3-ubyte", "idx/train-labels-idx1-ubyte", options);
            Expect.List(dataset.Info.Dims, 1, 2, 2);
            Expect.List(ReadAll(dataset).GetInputs().Take(2), -1f, 1f);
            Expect.Fails(Status.NotFound, () => Dataset.OpenDirectory(Context, "idx", "test"), "idx");
            Expect.Fails(Status.InvalidArgument, () => Dataset.OpenDirectory(Context, "idx", "val"));
            Expect.Fails(Status.NotFound, () => Dataset.OpenIdx(Context, "ü", "idx"), "ü");
            Expect.Fails(Status.InvalidArgument, () => Dataset.OpenDirectory(Context, "idx", "train", new DatasetOptions { Std = 0 }));
        }

        [Test]
        private static void Arrays()
        {
            Dataset labelled = Dataset.CreateArrays(Context, new float[] { 1, 2, 3, 4 }, new long[] { 2 }, new[] { 0, 2 });
            Expect.Equal(labelled.Info.N, 2);
            Expect.Equal(labelled.Info.Classes, 3);
            Expect.List(ReadAll(labelled).GetLabels(), 0, 2);
            Dataset valued = Dataset.CreateArrays(Context, new float[] { 1, 2 }, new long[] { 1 }, new float[] { 5, 6, 7, 8 }, 2);
            Batch batch = ReadAll(valued);
            Expect.List(batch.GetValues(), 5f, 6f, 7f, 8f);
            Expect.Equal(batch.Info.ValueSize, 2);
            Expect.True(batch.GetLabels() == null && batch.GetTokens() == null, "no labels and no tokens");
            Expect.Throws<ArgumentException>(
                () => Dataset.CreateArrays(Context, new float[3], new long[] { 2 }, new[] { 0, 2 }), "inputs has 3 elements, need 4");
            Expect.Throws<ArgumentException>(
                () => Dataset.CreateArrays(Context, new float[2], new long[] { 1 }, new float[3], 2), "need 1");
            Expect.Fails(Status.InvalidArgument, () => Dataset.CreateArrays(Context, new float[1], new long[] { 1 }, new[] { -1 }));
        }

        [Test]
        private static void AnyArrays()
        {
            foreach (bool isBorrowed in new[] { false, true })
            {
                var arrays = new Arrays { Inputs = new byte[,] { { 0, 255 }, { 51, 0 } }, Targets = new long[] { 4, 1 }, Borrow = isBorrowed };
                Expect.Equal(arrays.Dtype, Dtype.U8);
                Expect.Equal(arrays.TargetDtype, Dtype.I64);
                Dataset dataset = Dataset.CreateFrom(Context, arrays);
                Expect.List(dataset.Info.Dims, 2);
                Expect.Equal(dataset.Info.Classes, 5);
                Expect.List(ReadAll(dataset).GetInputs(), 0f, 1f, 0.2f, 0f);
                dataset.Dispose();
            }
            var half = new Arrays { Dtype = Dtype.F16, Inputs = new ushort[] { 0x3c00, 0x4000 }, Dims = new long[] { 2 }, Mean = 1, Std = 2 };
            Expect.List(ReadAll(Dataset.CreateFrom(Context, half)).GetInputs(), 0f, 0.5f);
            var tokens = new Arrays { Inputs = new long[] { 3, 7 }, Dims = new long[] { 1 }, Tokens = true, Targets = new[] { 1, -1 }, IgnoreIndex = -1 };
            Batch batch = ReadAll(Dataset.CreateFrom(Context, tokens));
            Expect.List(batch.GetTokens(), 3, 7);
            Expect.List(batch.GetLabels(), 1, -1);
            Expect.Throws<ArgumentNullException>(() => Dataset.CreateFrom(Context, new Arrays()), "Arrays.Inputs is null");
            Expect.Throws<ArgumentException>(
                () => Dataset.CreateFrom(Context, new Arrays { Inputs = new float[2], Targets = new int[3] }), "Arrays.Targets has 3");
            Expect.Throws<ArgumentException>(() => Dataset.CreateFrom(Context, new Arrays { Inputs = new float[2], Dims = new long[] { 0 } }));
            Expect.Fails(Status.InvalidArgument, () => Dataset.CreateFrom(Context, new Arrays { Inputs = new float[2], Std = 0 }));
        }

        [Test]
        private static void Tokens()
        {
            Dataset stream = Dataset.CreateTokenStream(Context, new byte[] { 1, 2, 3, 4, 5, 6 }, 2);
            Expect.Equal(stream.Info.N, 2);
            Expect.Equal(stream.Info.Words, 7);
            Expect.Equal(stream.Info.Dtype, Dtype.I32);
            Batch batch = ReadAll(stream);
            Expect.List(batch.GetTokens(), 1, 2, 3, 4);
            Expect.List(batch.GetLabels(), 2, 3, 4, 5);
            Expect.Equal(batch.GetInputs(), null);
            Expect.Equal(Dataset.CreateTokenStream(Context, new[] { 1, 2, 300 }, 1).Info.Words, 301);
            Dataset classes = Dataset.CreateTokens(Context, new byte[] { 1, 2, 3, 4 }, 2, new[] { 0, 1 });
            Expect.Equal(classes.Info.LabelSize, 1);
            Dataset perToken = Dataset.CreateTokens(Context, new[] { 1, 2, 3, 4 }, 2, new[] { 0, 1, -100, 2 }, -100);
            Expect.Equal(perToken.Info.LabelSize, 2);
            Expect.List(ReadAll(perToken).GetLabels(), 0, 1, -100, 2);
            Expect.Throws<ArgumentException>(() => Dataset.CreateTokens(Context, new[] { 1, 2, 3 }, 2, new[] { 0 }), "tokens has 3");
            Expect.Fails(Status.InvalidArgument, () => Dataset.CreateTokenStream(Context, new[] { -1, 2 }, 1));
        }

        [Test]
        private static void SampleWeights()
        {
            Dataset dataset = Dataset.CreateArrays(Context, new float[] { 0, 1, 2 }, new long[] { 1 }, new int[3]);
            Batch read = ReadAll(dataset.Weigh(new[] { 1, 0, 2.5f }));
            Expect.List(read.GetWeights(), 1f, 0f, 2.5f);
            Expect.Equal(ReadAll(dataset).GetWeights(), null);
            Expect.Fails(Status.InvalidArgument, () => dataset.Weigh(new float[2]));
            Expect.Throws<ArgumentNullException>(() => dataset.Weigh(null), "Dataset.Weigh: weights is null");
            using (Tensor inputs = Tensor.Create(Context, Device.Cpu(), new float[,] { { 3, 4 }, { 3, 4 } }))
            using (Tensor values = Tensor.Create(Context, Device.Cpu(), new float[,] { { 10 }, { 10 } }))
            using (Tensor weights = Tensor.Create(Context, Device.Cpu(), new[] { 0.5f, 2 }))
            using (Batch batch = new Batch(inputs, values, weights))
            {
                Expect.List(batch.GetWeights(), 0.5f, 2f);
                Expect.Fails(Status.InvalidArgument, () => new Batch(inputs, values, values));
                Expect.Throws<ArgumentNullException>(() => new Batch(inputs, values, null), "Batch: weights is null");
            }
        }

        [Test]
        private static void Combinations()
        {
            Dataset dataset = Dataset.CreateArrays(Context, new float[] { 0, 1, 2, 3, 4 }, new long[] { 1 }, new int[5]);
            Expect.List(ReadAll(dataset.Subset(new long[] { 4, 0, 4 })).GetInputs(), 4f, 0f, 4f);
            Dataset[] parts = dataset.Split(new long[] { 3, 2 });
            Expect.List(ReadAll(parts[1]).GetInputs(), 3f, 4f);
            Dataset[] shuffled = dataset.Split(new long[] { 3, 2 }, true, 5);
            Dataset all = Dataset.Concat(shuffled);
            Expect.List(ReadAll(all).GetInputs().OrderBy(x => x), 0f, 1f, 2f, 3f, 4f);
            Expect.List(ReadAll(Dataset.Concat(dataset.Split(new long[] { 3, 2 }, true, 5))).GetInputs(), ReadAll(all).GetInputs());
            Expect.Fails(Status.InvalidArgument, () => dataset.Subset(new long[] { 5 }));
            Expect.Fails(Status.InvalidArgument, () => dataset.Split(new long[] { 6 }));
            Expect.Throws<ArgumentException>(() => Dataset.Concat());
            Expect.Throws<ArgumentNullException>(() => Dataset.Concat(dataset, null), "Dataset.Concat: datasets[1] is null");
        }

        [Test]
        private static void Synthetic()
        {
            DatasetInfo info = Samples.Synthetic(Context).Info;
            Expect.Equal(info.N, 96);
            Expect.Equal(info.Classes, 3);
            Expect.Equal(info.LabelSize, 1);
            Expect.List(info.Dims, 1, 4, 4);
        }

        [Test]
        private static void LoaderOrder()
        {
            Dataset dataset = Dataset.CreateArrays(Context, new float[] { 0, 1, 2, 3, 4 }, new long[] { 1 }, new int[5]);
            using (var loader = new Loader(dataset, new LoaderOptions { Batch = 2 }))
            {
                Expect.List(loader.SelectMany(batch => batch.GetInputs()), 0f, 1f, 2f, 3f, 4f);
                LoaderPosition position = loader.Tell();
                Expect.Equal(position.Epoch, 1);
                Expect.Equal(position.Batch, 0);
                Expect.Equal(position.Batches, 3);
                loader.Seek(new LoaderPosition { Epoch = 4, Batch = 1 });
                Expect.Equal(loader.Next(out Batch second), Status.Ok);
                Expect.List(second.GetInputs(), 2f, 3f);
                Expect.List(second.Info.Dims, 2, 1);
                Expect.Equal(second.Info.N, 2);
                Expect.Equal(second.Info.LabelSize, 1);
                Expect.Equal(loader.Next(out Batch third), Status.Ok);
                Expect.Equal(third.Info.N, 1);
                Expect.Equal(loader.Next(out Batch none), Status.EndOfData);
                Expect.Equal(none, null);
                Expect.Equal(loader.Tell().Epoch, 5);
                Expect.Equal(((IEnumerable)loader).Cast<Batch>().Count(), 3);
                Expect.Fails(Status.InvalidArgument, () => loader.Seek(new LoaderPosition { Batch = 4 }));
            }
            using (var loader = new Loader(dataset, new LoaderOptions { Batch = 2, DropLast = true, Shuffle = true, Seed = 1, Prefetch = 0 }))
                Expect.Equal(loader.Count(), 2);
        }

        [Test]
        private static void Weights()
        {
            Dataset dataset = Dataset.CreateArrays(Context, new float[] { 0, 1, 2 }, new long[] { 1 }, new int[3]);
            var options = new LoaderOptions { Batch = 4, Weights = new double[] { 0, 1, 0 }, EpochSamples = 4 };
            using (var loader = new Loader(dataset, options))
                Expect.List(loader.First().GetInputs(), 1f, 1f, 1f, 1f);
            options.Weights = new double[] { 1, 1 };
            Expect.Throws<ArgumentException>(() => new Loader(dataset, options), "LoaderOptions.Weights has 2 weights, need 3");
        }

        [Test]
        private static void Augmentation()
        {
            float[] images = Enumerable.Range(0, 128).Select(i => 1f + i % 2).ToArray();
            Dataset dataset = Dataset.CreateArrays(Context, images, new long[] { 1, 1, 2 }, new int[64]);
            using (var loader = new Loader(dataset, new LoaderOptions { Batch = 64, Flip = true }))
            {
                float[] inputs = loader.First().GetInputs();
                int mirrored = Enumerable.Range(0, 64).Count(i => inputs[2 * i] == 2f && inputs[2 * i + 1] == 1f);
                int others = Enumerable.Range(0, 64).Count(i => inputs[2 * i] == 1f && inputs[2 * i + 1] == 2f);
                Expect.Equal(mirrored + others, 64);
                Expect.Equal(mirrored > 0 && others > 0, true);
            }
            Expect.Fails(Status.InvalidArgument, () => new Loader(dataset, new LoaderOptions { Batch = 1, Crop = 1 }), "crop is 1");
        }

        [Test]
        private static void LoaderErrors()
        {
            Dataset dataset = Samples.Synthetic(Context);
            Expect.Fails(Status.InvalidArgument, () => new Loader(dataset, new LoaderOptions()), "batch is not set");
            Expect.Throws<ArgumentNullException>(() => new Loader(dataset, null), "Loader: options is null");
            Expect.Throws<ArgumentNullException>(() => new Loader(null, new LoaderOptions()), "Loader: dataset is null");
        }

        [Test]
        private static void BorrowedBatches()
        {
            Loader loader = Samples.Loader(Context);
            loader.Next(out Batch first);
            Batch kept = first.Copy();
            float[] inputs = first.GetInputs();
            loader.Next(out Batch second);
            Expect.Fails(Status.InvalidArgument, () => first.GetInputs(), "moved past it");
            Expect.List(kept.GetInputs(), inputs);
            // The library says so if a trainer moved the loader.
            using (Trainer trainer = Samples.Mlp(Context).Attach(Samples.One))
                trainer.TrainBatches(loader, 1);
            Expect.Fails(Status.InvalidArgument, () => second.GetInputs(), "its loader moved past");
            Batch third = loader.First();
            loader.Dispose();
            Expect.Fails(Status.InvalidArgument, () => third.GetInputs(), "is closed");
            Expect.Throws<ObjectDisposedException>(() => loader.Next(out _), "Loader: the object is closed");
            Expect.List(kept.GetInputs(), inputs);
        }

        [Test]
        private static void BatchOfTensors()
        {
            using (Batch batch = Samples.SumBatch(Context))
            {
                Expect.Equal(batch.Info.N, 2);
                Expect.List(batch.GetInputs(), 3f, 4f, 3f, 4f);
                Expect.List(batch.GetValues(), 10f, 10f);
            }
            using (Tensor tokens = Tensor.Create(Context, Device.Cpu(), new[,] { { 1, 2 } }))
            using (Batch batch = new Batch(tokens))
                Expect.List(batch.GetTokens(), 1, 2);
            using (Tensor wrong = Tensor.Create(Context, Device.Cpu(), new double[1, 2]))
                Expect.Fails(Status.InvalidArgument, () => new Batch(wrong));
            Expect.Throws<ArgumentNullException>(() => new Batch(null), "Batch: inputs is null");
        }
    }
}
