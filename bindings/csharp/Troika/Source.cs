using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using Troika.Native;

namespace Troika
{
    /// <summary>Writes the samples that a loader needs, and returns their number: all of them; a
    /// stream may return fewer at the end of an epoch, and 0 after it. It runs on a thread of the
    /// loader, or on the thread that uses a loader without prefetch, and on several threads at once
    /// if several loaders read the dataset. It must not use the loader that waits for it. An
    /// exception comes back, as it was thrown, from the call that waits for the samples.</summary>
    public delegate long ReadHandler(ReadRequest request);

    public sealed partial class Source
    {
        /// <summary>Writes samples. Must be set. It is kept alive as long as the dataset.</summary>
        public ReadHandler Read { get; set; }

        unsafe partial void WriteMore(troika_source* raw, NativeScope scope)
        {
            Argument.NotNull(Read, "Source.Read");
            raw->read = Callbacks.Read;
            raw->user_destroy = Callbacks.Release;
        }
    }

    /// <summary>Samples that a function of the host is asked to write. It is valid until the
    /// function returns.</summary>
    public sealed unsafe class ReadRequest
    {
        private readonly SourceReader reader;
        private readonly troika_read_request* raw;
        private bool isOver;

        internal ReadRequest(SourceReader reader, troika_read_request* raw)
        {
            this.reader = reader;
            this.raw = raw;
            N = raw->n;
            Epoch = raw->epoch;
            First = raw->first;
            Indices = raw->indices == null ? null : NativeArray.Read(raw->indices, checked((int)raw->n));
        }

        /// <summary>Samples to write, at least 1.</summary>
        public long N { get; }

        /// <summary>Indices of these samples; null for a stream.</summary>
        public IReadOnlyList<long> Indices { get; }

        /// <summary>A stream: the loader's epoch. Otherwise 0.</summary>
        public long Epoch { get; }

        /// <summary>A stream: samples of the epoch that come before these. Otherwise 0.</summary>
        public long First { get; }

        internal bool IsStopped { get; private set; }

        /// <summary>Makes the call that waits for the samples end with
        /// <see cref="Status.Stopped"/>. Return the result.</summary>
        public long Stop()
        {
            IsStopped = true;
            return -1;
        }

        /// <summary>Writes sample <paramref name="i"/> of the request, f32.</summary>
        public void SetInputs(long i, params float[] sample) =>
            Write(reader.AreTokens ? null : raw->inputs, i, reader.SampleSize, sample, "SetInputs");

        /// <summary>Writes sample <paramref name="i"/> of the request, tokens.</summary>
        public void SetTokens(long i, params int[] sample) =>
            Write(reader.AreTokens ? raw->inputs : null, i, reader.SampleSize, sample, "SetTokens");

        /// <summary>Writes the labels of sample <paramref name="i"/>.</summary>
        public void SetLabels(long i, params int[] labels) =>
            Write(raw->labels, i, reader.LabelSize, labels, "SetLabels");

        /// <summary>Writes the values of sample <paramref name="i"/>.</summary>
        public void SetValues(long i, params float[] values) =>
            Write(raw->values, i, reader.ValueSize, values, "SetValues");

#if SPAN
        /// <summary>The samples to write, [n, dims...], f32; empty for tokens.</summary>
        public Span<float> Inputs => Room<float>(reader.AreTokens ? null : raw->inputs, reader.SampleSize);

        /// <summary>The samples to write, [n, dims...], tokens; empty for f32.</summary>
        public Span<int> Tokens => Room<int>(reader.AreTokens ? raw->inputs : null, reader.SampleSize);

        /// <summary>The labels to write, [n, LabelSize]; empty without labels.</summary>
        public Span<int> Labels => Room<int>(raw->labels, reader.LabelSize);

        /// <summary>The values to write, [n, ValueSize]; empty without values.</summary>
        public Span<float> Values => Room<float>(raw->values, reader.ValueSize);

        private Span<T> Room<T>(void* memory, long size) where T : struct
        {
            CheckIsOpen();
            return memory == null ? Span<T>.Empty : new Span<T>(memory, checked((int)(N * size)));
        }
#endif

        internal void Close() => isOver = true;

        private void CheckIsOpen()
        {
            if (isOver)
                throw new ObjectDisposedException(null, "ReadRequest: the function has returned");
        }

        private void Write(void* memory, long i, long size, Array values, string method)
        {
            CheckIsOpen();
            Argument.NotNull(values, "ReadRequest." + method + ": values");
            if (memory == null)
                throw new InvalidOperationException("ReadRequest." + method + ": the source has no such numbers");
            if (i < 0 || i >= N)
                throw new ArgumentOutOfRangeException(null, "ReadRequest." + method + ": i is " + i + ", need 0 to " + (N - 1));
            Argument.Equal(values.LongLength, size, "ReadRequest." + method + ": values", "elements");
            using (var pinned = new PinnedArray(values, method))
                Buffer.MemoryCopy(pinned.Address, (byte*)memory + i * pinned.Bytes, pinned.Bytes, pinned.Bytes);
        }
    }

    /// <summary>The function of a source, and what it threw.</summary>
    internal sealed unsafe class SourceReader
    {
        // A failure is lost if nobody waits for it. So there is an end to their number.
        private const int MostFailures = 64;

        private readonly ReadHandler read;
        private readonly LinkedList<KeyValuePair<string, ExceptionDispatchInfo>> failures =
            new LinkedList<KeyValuePair<string, ExceptionDispatchInfo>>();

        internal SourceReader(Source source)
        {
            read = source.Read;
            AreTokens = source.Dtype == Dtype.I32;
            SampleSize = Elements.Count(source.Dims ?? new long[0], "Source.Dims");
            LabelSize = source.LabelSize;
            ValueSize = source.ValueSize;
        }

        internal bool AreTokens { get; }

        internal long SampleSize { get; }

        internal long LabelSize { get; }

        internal long ValueSize { get; }

        /// <summary>Calls the function. The library reports a failure by its message.</summary>
        internal long Read(troika_read_request* request, troika_error* error)
        {
            ReadRequest wrapped = null;
            try
            {
                wrapped = new ReadRequest(this, request);
                long n = read(wrapped);
                if (!wrapped.IsStopped)
                    return n;
                error->status = (int)Status.Stopped;
            }
            catch (Exception thrown)
            {
                string text = string.IsNullOrEmpty(thrown.Message) ? thrown.GetType().Name : thrown.Message;
                Keep(error->Leave(text), ExceptionDispatchInfo.Capture(thrown));
            }
            finally
            {
                wrapped?.Close();
            }
            return -1;
        }

        /// <summary>Returns what the function threw with this message, or null.</summary>
        internal ExceptionDispatchInfo Take(string message)
        {
            lock (failures)
            {
                for (var node = failures.First; node != null; node = node.Next)
                {
                    if (!message.Contains(node.Value.Key))
                        continue;
                    failures.Remove(node);
                    return node.Value.Value;
                }
                return null;
            }
        }

        private void Keep(string message, ExceptionDispatchInfo failure)
        {
            lock (failures)
            {
                failures.AddLast(new KeyValuePair<string, ExceptionDispatchInfo>(message, failure));
                if (failures.Count > MostFailures)
                    failures.RemoveFirst();
            }
        }
    }
}
