using System;
using Troika.Native;

namespace Troika
{
    /// <summary>Inputs [n, ...] and their targets. Several threads may read a batch; that of a
    /// loader is valid until the next call on the loader, and closed afterwards.</summary>
    public sealed class Batch : TroikaObject
    {
        // The loader of a borrowed batch.
        private readonly Loader loader;

        /// <summary>Creates a batch with copies of tensors on any devices. Inputs are f32 or tokens
        /// i32. Targets are classes i32, values f32, or null for none.</summary>
        /// <exception cref="TroikaException">InvalidArgument: types or shapes.</exception>
        public Batch(Tensor inputs, Tensor targets = null)
            : base(Create(inputs, targets), inputs.Context)
        {
            Context.ThrowLogFailure();
        }

        /// <summary>Creates a batch whose samples have weights f32 [n] in losses, for trainers with
        /// SampleWeights. Targets may be null.</summary>
        /// <exception cref="TroikaException">InvalidArgument: types, shapes or weights.</exception>
        public Batch(Tensor inputs, Tensor targets, Tensor weights)
            : base(CreateWeighted(inputs, targets, weights), inputs.Context)
        {
            Context.ThrowLogFailure();
        }

        internal Batch(IntPtr lent, LoaderHandle handle, Loader loader)
            : base(Borrowed(lent, handle), loader.Context)
        {
            this.loader = loader;
        }

        private Batch(BatchHandle handle, Context context) : base(handle, context)
        {
        }

        /// <summary>Number and shape of the samples.</summary>
        public unsafe BatchInfo Info
        {
            get
            {
                troika_batch_info info = Describe(Handle);
                return new BatchInfo(&info);
            }
        }

        /// <summary>The handle of a batch that its loader has not moved past.</summary>
        internal BatchHandle Handle
        {
            get
            {
                if (loader != null && loader.Lent != this)
                {
                    const string message = "batch: the loader moved past it, or is closed; ask for the next, or copy it before";
                    throw new TroikaException(Status.InvalidArgument, message);
                }
                return (BatchHandle)Live;
            }
        }

        /// <summary>Copies the batch, such as one of a loader that the host keeps.</summary>
        public Batch Copy()
        {
            Check(NativeMethods.troika_batch_copy(Handle, out BatchHandle copy, out troika_error error), ref error);
            return new Batch(copy, Context);
        }

        /// <summary>Returns a copy of the inputs [n, ...], f32; null if they are tokens.</summary>
        public unsafe float[] GetInputs()
        {
            using (var scope = new NativeScope())
            {
                troika_batch_info info = Hold(scope);
                return NativeArray.Copy(info.inputs, CountInputs(&info));
            }
        }

        /// <summary>Returns a copy of the tokens [n, ...]; null if the inputs are f32.</summary>
        public unsafe int[] GetTokens()
        {
            using (var scope = new NativeScope())
            {
                troika_batch_info info = Hold(scope);
                return NativeArray.Copy(info.tokens, CountInputs(&info));
            }
        }

        /// <summary>Returns a copy of the labels [n, LabelSize]; null without labels.</summary>
        public unsafe int[] GetLabels()
        {
            using (var scope = new NativeScope())
            {
                troika_batch_info info = Hold(scope);
                return NativeArray.Copy(info.labels, info.n * info.label_size);
            }
        }

        /// <summary>Returns a copy of the values [n, ValueSize]; null without values.</summary>
        public unsafe float[] GetValues()
        {
            using (var scope = new NativeScope())
            {
                troika_batch_info info = Hold(scope);
                return NativeArray.Copy(info.values, info.n * info.value_size);
            }
        }

        /// <summary>Returns a copy of the weights of samples [n]; null without weights.</summary>
        public unsafe float[] GetWeights()
        {
            using (var scope = new NativeScope())
            {
                troika_batch_info info = Hold(scope);
                return NativeArray.Copy(info.weights, info.n);
            }
        }

        /// <summary>Describes the batch, whose memory stays until the scope ends.</summary>
        private troika_batch_info Hold(NativeScope scope)
        {
            BatchHandle handle = Handle;
            scope.Hold(this);
            return Describe(handle);
        }

        private unsafe troika_batch_info Describe(BatchHandle handle)
        {
            troika_batch_info info = troika_batch_info.Default();
            Check(NativeMethods.troika_batch_describe(handle, &info, out troika_error error), ref error);
            return info;
        }

        private static unsafe long CountInputs(troika_batch_info* info) =>
            Elements.Count(NativeArray.Read(info->dims, info->rank), "batch: dims");

        private static BatchHandle Create(Tensor inputs, Tensor targets)
        {
            TensorHandle from = Argument.NotNull(inputs, "Batch: inputs").Handle;
            Status status = NativeMethods.troika_batch_create(from, HandleOf(targets), out BatchHandle handle, out troika_error error);
            TroikaException.ThrowIfFailed(status, ref error);
            return handle;
        }

        private static BatchHandle CreateWeighted(Tensor inputs, Tensor targets, Tensor weights)
        {
            TensorHandle from = Argument.NotNull(inputs, "Batch: inputs").Handle;
            TensorHandle factors = Argument.NotNull(weights, "Batch: weights").Handle;
            Status status = NativeMethods.troika_batch_create_weighted(
                from, HandleOf(targets), factors, out BatchHandle handle, out troika_error error);
            TroikaException.ThrowIfFailed(status, ref error);
            return handle;
        }

        // An empty handle is NULL for the library.
        private static TensorHandle HandleOf(Tensor targets) => targets == null ? new TensorHandle() : targets.Handle;

        private static BatchHandle Borrowed(IntPtr lent, LoaderHandle loader)
        {
            var handle = new BatchHandle();
            handle.Borrow(lent, loader);
            return handle;
        }
    }
}
