using System;
using Troika.Native;

namespace Troika
{
    public sealed partial class Tensor
    {
        /// <summary>Multiplies matrices: this one [..., m, k] by the other [..., k, n] to [..., m,
        /// n]. The other may be one matrix [k, n] for all. A transposed one is stored as [..., k,
        /// m], or [..., n, k].</summary>
        public Tensor Matmul(Tensor other, bool transposeThis = false, bool transposeOther = false)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.Matmul: other").Handle;
            Status status = NativeMethods.troika_tensor_matmul(
                Handle, with, transposeThis ? 1 : 0, transposeOther ? 1 : 0, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Convolves images [batch, C, H, W] with a weight [K, C / groups, height, width].
        /// The bias [K], F32 with any type, may be null. Only Stride, Padding, Dilation and Groups
        /// of the options are read; null: the defaults.</summary>
        public unsafe Tensor Conv2d(Tensor weight, Tensor bias = null, Conv2dOptions options = null)
        {
            TensorHandle with = Argument.NotNull(weight, "Tensor.Conv2d: weight").Handle;
            TensorHandle add = bias == null ? new TensorHandle() : bias.Handle;
            using (var scope = new NativeScope())
            {
                troika_conv2d_options raw;
                (options ?? new Conv2dOptions()).WriteTo(&raw, scope);
                Status status = NativeMethods.troika_tensor_conv2d(
                    Handle, with, add, &raw, out TensorHandle result, out troika_error error);
                return Made(status, result, ref error);
            }
        }

        /// <summary>Returns the largest number of each window of images [batch, C, H, W].</summary>
        public unsafe Tensor MaxPool2d(Pool2dOptions options)
        {
            Argument.NotNull(options, "Tensor.MaxPool2d: options");
            using (var scope = new NativeScope())
            {
                troika_pool2d_options raw;
                options.WriteTo(&raw, scope);
                Status status = NativeMethods.troika_tensor_max_pool2d(
                    Handle, &raw, out TensorHandle result, out troika_error error);
                return Made(status, result, ref error);
            }
        }

        /// <summary>Returns the mean of each window of images [batch, C, H, W].</summary>
        public unsafe Tensor AvgPool2d(Pool2dOptions options)
        {
            Argument.NotNull(options, "Tensor.AvgPool2d: options");
            using (var scope = new NativeScope())
            {
                troika_pool2d_options raw;
                options.WriteTo(&raw, scope);
                Status status = NativeMethods.troika_tensor_avg_pool2d(
                    Handle, &raw, out TensorHandle result, out troika_error error);
                return Made(status, result, ref error);
            }
        }

        /// <summary>Shows the elements, row-major, under another shape. The result shares this
        /// tensor's memory. One size may be -1: it follows from the others. Any type.</summary>
        public Tensor Reshape(params long[] dims)
        {
            int rank = Argument.NotNull(dims, "Tensor.Reshape: dims").Length;
            Status status = NativeMethods.troika_tensor_reshape(
                Handle, dims, rank, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Axis i of the result is axis order[i] of this tensor. Without an order the axes
        /// are in reverse.</summary>
        public unsafe Tensor Transpose(params int[] order)
        {
            if (Argument.NotNull(order, "Tensor.Transpose: order").Length > 0)
                Argument.Equal(order.Length, Info.Dims.Count, "Tensor.Transpose: order", "axes");
            fixed (int* list = order)
            {
                Status status = NativeMethods.troika_tensor_transpose(
                    Handle, list, out TensorHandle result, out troika_error error);
                return Made(status, result, ref error);
            }
        }

        /// <summary>Returns a copy of the part [begin, end) along an axis.</summary>
        public Tensor Slice(int axis, long begin, long end)
        {
            Status status = NativeMethods.troika_tensor_slice(
                Handle, axis, begin, end, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Joins tensors along an axis, in the order of the list. They may differ in the
        /// size of that axis alone.</summary>
        public static Tensor Concat(int axis, params Tensor[] tensors)
        {
            if (Argument.NotNull(tensors, "Tensor.Concat: tensors").Length == 0)
                throw new ArgumentException("Tensor.Concat: tensors is empty, need at least one");
            using (var scope = new NativeScope())
            {
                IntPtr[] handles = scope.HoldAll(tensors, "Tensor.Concat: tensors");
                Status status = NativeMethods.troika_tensor_concat(
                    handles, handles.Length, axis, out TensorHandle result, out troika_error error);
                return Made(tensors[0].Context, status, result, ref error);
            }
        }

        /// <summary>Repeats the tensor until it has this shape: an axis of size 1, or a missing one
        /// at the front, is repeated.</summary>
        public Tensor Expand(params long[] dims)
        {
            int rank = Argument.NotNull(dims, "Tensor.Expand: dims").Length;
            Status status = NativeMethods.troika_tensor_expand(
                Handle, dims, rank, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the sums over some axes; null: over all. <paramref name="keepAxes"/>
        /// keeps them with the size 1.</summary>
        public unsafe Tensor Sum(int[] axes = null, bool keepAxes = false)
        {
            fixed (int* list = ListOf(axes))
            {
                Status status = NativeMethods.troika_tensor_sum(
                    Handle, list, axes?.Length ?? 0, keepAxes ? 1 : 0, out TensorHandle result, out troika_error error);
                return Made(status, result, ref error);
            }
        }

        /// <summary>Returns the sums along one axis. An axis below 0 counts from the end.</summary>
        public Tensor Sum(int axis, bool keepAxes = false) => Sum(new[] { axis }, keepAxes);

        /// <summary>Returns the means over some axes; null: over all. <paramref name="keepAxes"/>
        /// keeps them with the size 1.</summary>
        public unsafe Tensor Mean(int[] axes = null, bool keepAxes = false)
        {
            fixed (int* list = ListOf(axes))
            {
                Status status = NativeMethods.troika_tensor_mean(
                    Handle, list, axes?.Length ?? 0, keepAxes ? 1 : 0, out TensorHandle result, out troika_error error);
                return Made(status, result, ref error);
            }
        }

        /// <summary>Returns the means along one axis. An axis below 0 counts from the
        /// end.</summary>
        public Tensor Mean(int axis, bool keepAxes = false) => Mean(new[] { axis }, keepAxes);

        /// <summary>Returns the root of the sum of all squares.</summary>
        public Tensor Norm()
        {
            Status status = NativeMethods.troika_tensor_norm(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns e^x over the sum of e^x along an axis.</summary>
        public Tensor Softmax(int axis = -1)
        {
            Status status = NativeMethods.troika_tensor_softmax(
                Handle, axis, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the places of the largest numbers along an axis, as I64 without that
        /// axis. The first of equal numbers counts. Not recorded for gradients.</summary>
        public Tensor Argmax(int axis = -1)
        {
            Status status = NativeMethods.troika_tensor_argmax(
                Handle, axis, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the cross-entropy of each label, F32. This tensor has logits [batch,
        /// classes], [batch, steps, classes] or [batch, classes, H, W]. The labels have that shape
        /// without its classes, and the type I32, I64 or U8.</summary>
        public Tensor CrossEntropy(Tensor labels)
        {
            TensorHandle with = Argument.NotNull(labels, "Tensor.CrossEntropy: labels").Handle;
            Status status = NativeMethods.troika_tensor_cross_entropy(
                Handle, with, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns a list that a pointer can be fixed to: an empty one stays different
        /// from null.</summary>
        internal static int[] ListOf(int[] axes) => axes != null && axes.Length == 0 ? new int[1] : axes;
    }
}
