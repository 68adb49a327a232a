using System;
using System.Collections;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    public sealed partial class LoaderOptions
    {
        /// <summary>Weighted sampling: one weight per sample of the dataset, at least 0 and not all
        /// 0. Each place of an epoch draws a sample with a probability in proportion to its weight,
        /// as a function of seed and epoch. Excludes <see cref="Shuffle"/>. null (default): none.
        /// Copied.</summary>
        public IReadOnlyList<double> Weights { get; set; }

        unsafe partial void WriteMore(troika_loader_options* raw, NativeScope scope)
        {
            raw->weights = scope.Copy(Weights);
        }
    }

    /// <summary>Batches of a dataset, epoch after epoch, prepared ahead on a thread of its own.
    /// Enumerating it returns the batches that the epoch still has. One call at a time, from any
    /// thread; a second call gets Busy, also while a trainer uses the loader.</summary>
    public sealed class Loader : TroikaObject, IEnumerable<Batch>
    {
        private static readonly bool IsMono = Type.GetType("Mono.Runtime") != null;

        private readonly IReadOnlyList<SourceReader> readers;

        /// <summary>Creates a loader at batch 0 of epoch 0.</summary>
        /// <exception cref="TroikaException">InvalidArgument, which names the option.</exception>
        public Loader(Dataset dataset, LoaderOptions options)
            : base(Create(dataset, options), dataset.Context)
        {
            readers = dataset.Readers;
            Context.ThrowLogFailure();
        }

        internal LoaderHandle Handle => (LoaderHandle)Live;

        /// <summary>The batch that the loader lends now, or null.</summary>
        internal Batch Lent { get; private set; }

        /// <summary>Returns the next batch of the epoch. It is borrowed until the next call on the
        /// loader; <see cref="Batch.Copy"/> keeps it. After the last batch the status is EndOfData
        /// once, with null; then the next epoch begins. The status is Stopped, with null, if the
        /// dataset's function stopped the call.</summary>
        public Status Next(out Batch batch)
        {
            batch = null;
            Return();
            LoaderHandle handle = Handle;
            Status status = NativeMethods.troika_loader_next(handle, out IntPtr lent, out troika_error error);
            ThrowSourceFailure(status, ref error);
            Check(status, ref error);
            if (status == Status.Ok)
                Lent = batch = new Batch(lent, handle, this);
            return status;
        }

        /// <summary>Returns the position: the batch that <see cref="Next"/> returns next.</summary>
        public unsafe LoaderPosition Tell()
        {
            troika_loader_position position = troika_loader_position.Default();
            Check(NativeMethods.troika_loader_tell(Handle, &position, out troika_error error), ref error);
            return new LoaderPosition(&position);
        }

        /// <summary>Moves the loader, to resume in the middle of an epoch.</summary>
        /// <exception cref="TroikaException">InvalidArgument for a position that it does not
        /// have.</exception>
        public unsafe void Seek(LoaderPosition position)
        {
            Argument.NotNull(position, "Loader.Seek: position");
            using (var scope = new NativeScope())
            {
                troika_loader_position raw;
                position.WriteTo(&raw, scope);
                Check(NativeMethods.troika_loader_seek(Handle, &raw, out troika_error error), ref error);
            }
        }

        /// <summary>Enumerates the batches that the epoch still has, or those before the dataset's
        /// function stops. Each is borrowed until the enumeration goes on.</summary>
        public IEnumerator<Batch> GetEnumerator()
        {
            while (Next(out Batch batch) == Status.Ok)
                yield return batch;
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        /// <summary>Closes the loader and the batch that it lends. Waits until a function of the
        /// host that reads for it returns.</summary>
        public override void Dispose()
        {
            Return();
            base.Dispose();
        }

        /// <summary>Throws what the dataset's function threw, if a call failed because of
        /// it.</summary>
        internal void ThrowSourceFailure(Status status, ref troika_error error)
        {
            if (status != Status.Callback)
                return;
            string message = error.Text;
            foreach (SourceReader reader in readers)
                reader.Take(message)?.Throw();
        }

        private void Return()
        {
            Batch returned = Lent;
            Lent = null;
            returned?.Dispose();
        }

        private static unsafe LoaderHandle Create(Dataset dataset, LoaderOptions options)
        {
            DatasetHandle of = Argument.NotNull(dataset, "Loader: dataset").Handle;
            Argument.NotNull(options, "Loader: options");
            // The library reads one weight for each sample.
            if (options.Weights != null)
                Argument.Equal(options.Weights.Count, Math.Max(dataset.Info.N, 0), "LoaderOptions.Weights", "weights");
            using (var scope = new NativeScope())
            {
                troika_loader_options raw;
                options.WriteTo(&raw, scope);
                // Mono does not end a process before every thread that has called it has ended. A
                // loader's thread ends with the loader, which the host may forget.
                if (dataset.Readers.Count > 0 && IsMono)
                    raw.prefetch = 0;
                Status status = NativeMethods.troika_loader_create(of, &raw, out LoaderHandle handle, out troika_error error);
                TroikaException.ThrowIfFailed(status, ref error);
                return handle;
            }
        }
    }
}
