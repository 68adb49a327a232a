using System;
using Troika.Native;

namespace Troika
{
    /// <summary>A record of operations on tensors, from which gradients are computed. It records
    /// the operations that read a watched tensor, or a result of such an operation, on any device.
    /// It holds these tensors until it is closed. Calls run one after another.</summary>
    public sealed class Gradients : TroikaObject
    {
        /// <summary>Creates an empty record. Any thread.</summary>
        public Gradients(Context context) : base(Create(context), context)
        {
            Context.ThrowLogFailure();
        }

        private GradientsHandle Handle => (GradientsHandle)Live;

        /// <summary>Records the operations that read these tensors from now on. Until the record is
        /// closed, the tensors are not changed in place. Writes the tensors.</summary>
        /// <exception cref="TroikaException">InvalidArgument if another record watches a tensor, or
        /// if its type is not F32, Bf16 or F16.</exception>
        public void Watch(params Tensor[] tensors)
        {
            foreach (Tensor tensor in Argument.NotNull(tensors, "Gradients.Watch: tensors"))
            {
                TensorHandle watched = Argument.NotNull(tensor, "Gradients.Watch: tensor").Handle;
                Check(NativeMethods.troika_gradients_watch(Handle, watched, out troika_error error), ref error);
            }
        }

        /// <summary>Returns the gradients of a number, a tensor of one element that operations of
        /// this record have made, for each of the tensors. Each gradient has the type, the shape
        /// and the device of its tensor. May be called several times. Reads the tensors.</summary>
        /// <exception cref="TroikaException">InvalidArgument if the number or a tensor is not of
        /// this record, if the number has several elements, or does not depend on a tensor;
        /// Unsupported for an operation without a gradient.</exception>
        public Tensor[] Of(Tensor number, params Tensor[] tensors)
        {
            TensorHandle of = Argument.NotNull(number, "Gradients.Of: number").Handle;
            if (Argument.NotNull(tensors, "Gradients.Of: tensors").Length == 0)
                throw new ArgumentException("Gradients.Of: tensors is empty, need at least one");
            using (var scope = new NativeScope())
            {
                IntPtr[] handles = scope.HoldAll(tensors, "Gradients.Of: tensors");
                var gradients = new IntPtr[handles.Length];
                Status status = NativeMethods.troika_gradients_compute(
                    Handle, of, handles, handles.Length, gradients, out troika_error error);
                Check(status, ref error);
                return Array.ConvertAll(gradients, gradient => new Tensor(Tensor.Owned(gradient), Context));
            }
        }

        private static GradientsHandle Create(Context context)
        {
            ContextHandle of = Argument.NotNull(context, "Gradients: context").Handle;
            var created = new IntPtr[1];
            Status status = NativeMethods.troika_gradients_create(of, created, out troika_error error);
            TroikaException.ThrowIfFailed(status, ref error);
            var handle = new GradientsHandle();
            handle.Own(created[0]);
            return handle;
        }
    }
}
