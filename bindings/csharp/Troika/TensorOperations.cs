using Troika.Native;

namespace Troika
{
    public sealed partial class Tensor
    {
        /// <summary>Creates a tensor whose numbers are all <paramref name="value"/>. Any
        /// thread.</summary>
        public static Tensor Full(Context context, Device device, Dtype dtype, long[] dims, double value)
        {
            ContextHandle of = Argument.NotNull(context, "Tensor.Full: context").Handle;
            Argument.NotNull(dims, "Tensor.Full: dims");
            Status status = NativeMethods.troika_tensor_full(
                of, device, (int)dtype, dims, dims.Length, value, out TensorHandle result, out troika_error error);
            return Made(context, status, result, ref error);
        }

        /// <summary>Creates a tensor [count] with the numbers start, start + step, start + 2 step
        /// and so on. Any thread.</summary>
        public static Tensor Arange(Context context, Device device, Dtype dtype, double start, double step, long count)
        {
            ContextHandle of = Argument.NotNull(context, "Tensor.Arange: context").Handle;
            Status status = NativeMethods.troika_tensor_arange(
                of, device, (int)dtype, start, step, count, out TensorHandle result, out troika_error error);
            return Made(context, status, result, ref error);
        }

        /// <summary>Creates a tensor of numbers that are uniform in [low, high). They depend only
        /// on the seed, and are the same on every device. Any thread.</summary>
        public static Tensor Uniform(Context context, Device device, Dtype dtype, long[] dims, double low, double high, ulong seed = 0)
        {
            ContextHandle of = Argument.NotNull(context, "Tensor.Uniform: context").Handle;
            Argument.NotNull(dims, "Tensor.Uniform: dims");
            Status status = NativeMethods.troika_tensor_uniform(
                of, device, (int)dtype, dims, dims.Length, low, high, seed, out TensorHandle result, out troika_error error);
            return Made(context, status, result, ref error);
        }

        /// <summary>Creates a tensor of normally distributed numbers. They depend only on the seed,
        /// and are the same on every device. Any thread.</summary>
        public static Tensor Normal(Context context, Device device, Dtype dtype, long[] dims, double mean, double deviation, ulong seed = 0)
        {
            ContextHandle of = Argument.NotNull(context, "Tensor.Normal: context").Handle;
            Argument.NotNull(dims, "Tensor.Normal: dims");
            Status status = NativeMethods.troika_tensor_normal(
                of, device, (int)dtype, dims, dims.Length, mean, deviation, seed, out TensorHandle result, out troika_error error);
            return Made(context, status, result, ref error);
        }

        /// <summary>Returns the sum. Shapes may differ as in NumPy: axes are aligned at their ends,
        /// and an axis of size 1, or a missing one, is repeated.</summary>
        /// <exception cref="TroikaException">InvalidArgument if shapes do not fit or tensors are on
        /// two devices; Unsupported if the type is not F32, Bf16 or F16. So for all
        /// operations.</exception>
        public Tensor Add(Tensor other)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.Add: other").Handle;
            Status status = NativeMethods.troika_tensor_add(
                Handle, with, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the difference. Shapes as in <see cref="Add"/>.</summary>
        public Tensor Subtract(Tensor other)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.Subtract: other").Handle;
            Status status = NativeMethods.troika_tensor_subtract(
                Handle, with, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the product, number by number. Shapes as in <see
        /// cref="Add"/>.</summary>
        public Tensor Multiply(Tensor other)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.Multiply: other").Handle;
            Status status = NativeMethods.troika_tensor_multiply(
                Handle, with, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the quotient. Shapes as in <see cref="Add"/>.</summary>
        public Tensor Divide(Tensor other)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.Divide: other").Handle;
            Status status = NativeMethods.troika_tensor_divide(
                Handle, with, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns a tensor of U8: 1 if the relation holds, else 0. Shapes as in <see
        /// cref="Add"/>. Not recorded for gradients.</summary>
        public Tensor Compare(Tensor other, Relation relation)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.Compare: other").Handle;
            Status status = NativeMethods.troika_tensor_compare(
                Handle, with, (int)relation, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns factor x + offset.</summary>
        public Tensor Scale(double factor, double offset = 0)
        {
            Status status = NativeMethods.troika_tensor_scale(
                Handle, factor, offset, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns max(x, 0). NaN stays NaN.</summary>
        public Tensor Relu()
        {
            Status status = NativeMethods.troika_tensor_relu(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns 1 / (1 + e^-x).</summary>
        public Tensor Sigmoid()
        {
            Status status = NativeMethods.troika_tensor_sigmoid(
                Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the hyperbolic tangents.</summary>
        public Tensor Tanh()
        {
            Status status = NativeMethods.troika_tensor_tanh(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns GELU without approximation.</summary>
        public Tensor Gelu()
        {
            Status status = NativeMethods.troika_tensor_gelu(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns x times the sigmoid of x.</summary>
        public Tensor Silu()
        {
            Status status = NativeMethods.troika_tensor_silu(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns x if x is above 0, else slope x.</summary>
        public Tensor LeakyRelu(double slope = 0.01)
        {
            Status status = NativeMethods.troika_tensor_leaky_relu(
                Handle, slope, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns |x|.</summary>
        public Tensor Abs()
        {
            Status status = NativeMethods.troika_tensor_abs(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns e^x.</summary>
        public Tensor Exp()
        {
            Status status = NativeMethods.troika_tensor_exp(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the natural logarithms.</summary>
        public Tensor Log()
        {
            Status status = NativeMethods.troika_tensor_log(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the square roots.</summary>
        public Tensor Sqrt()
        {
            Status status = NativeMethods.troika_tensor_sqrt(Handle, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Returns the same numbers as F32, Bf16, F16, I32, I64 or U8. Numbers are rounded
        /// to nearest even, and for integers towards 0. A number that an integer type does not hold
        /// becomes its nearest one; NaN becomes 0.</summary>
        public Tensor Cast(Dtype dtype)
        {
            Status status = NativeMethods.troika_tensor_cast(
                Handle, (int)dtype, out TensorHandle result, out troika_error error);
            return Made(status, result, ref error);
        }

        /// <summary>Adds factor times another tensor, in this tensor's memory: an update by a
        /// gradient has the factor -rate. The other may be smaller, as in <see cref="Add"/>. Writes
        /// this tensor.</summary>
        /// <exception cref="TroikaException">InvalidArgument also for a tensor that a
        /// <see cref="Gradients"/> watches or has recorded.</exception>
        public void AddInPlace(Tensor other, double factor = 1)
        {
            TensorHandle with = Argument.NotNull(other, "Tensor.AddInPlace: other").Handle;
            Check(NativeMethods.troika_tensor_add_in_place(Handle, with, factor, out troika_error error), ref error);
        }

        /// <summary>Replaces each number x by factor x + offset, with the errors of
        /// <see cref="AddInPlace"/>. Writes the tensor.</summary>
        public void ScaleInPlace(double factor, double offset = 0) =>
            Check(NativeMethods.troika_tensor_scale_in_place(Handle, factor, offset, out troika_error error), ref error);

        /// <summary>Returns type, shape and device, then the numbers: for large tensors the first
        /// and last 3 of an axis. Waits for the numbers.</summary>
        public override string ToString()
        {
            // A debugger also shows what is closed.
            if (IsClosed)
                return "Tensor (closed)";
            TensorHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_tensor_to_text(handle, buffer, capacity, out size, out error));
        }

        private static Tensor Made(Context context, Status status, TensorHandle result, ref troika_error error)
        {
            context.Check(status, ref error);
            return new Tensor(result, context);
        }

        private Tensor Made(Status status, TensorHandle result, ref troika_error error) =>
            Made(Context, status, result, ref error);
    }
}
