using System;
using System.Collections.Generic;
using System.Linq;
using Troika.Native;

namespace Troika
{
    /// <summary>A dense, row-major array on one device. Calls on different tensors may run at once,
    /// and so may calls that only read one tensor. While a call writes a tensor, no other call may
    /// use it; nothing checks this. Operations read their tensors and return a new one, which is
    /// the caller's to close. They run one after another on a device; on GPUs they return before
    /// they end.</summary>
    public sealed partial class Tensor : TroikaObject
    {
        /// <summary>Creates a tensor of zeros. Without sizes it is a scalar. Any thread.</summary>
        public unsafe Tensor(Context context, Device device, Dtype dtype, params long[] dims)
            : this(Create(context, device, dtype, Argument.NotNull(dims, "Tensor: dims"), null), context)
        {
        }

        internal Tensor(TensorHandle handle, Context context) : base(handle, context)
        {
        }

        /// <summary>Type, sizes, device and bytes. Any thread.</summary>
        public unsafe TensorInfo Info
        {
            get
            {
                troika_tensor_info info = troika_tensor_info.Default();
                Check(NativeMethods.troika_tensor_describe(Handle, &info, out troika_error error), ref error);
                return new TensorInfo(&info);
            }
        }

        internal TensorHandle Handle => (TensorHandle)Live;

        /// <summary>Creates a tensor with a copy of an array: float, double, int, long, byte, sbyte
        /// or short. Without <paramref name="dims"/> it has the array's sizes. Any
        /// thread.</summary>
        /// <exception cref="ArgumentException">Other elements, or sizes that need another number of
        /// them.</exception>
        public static Tensor Create(Context context, Device device, Array data, params long[] dims)
        {
            Dtype? dtype = Elements.DtypeOf(Argument.NotNull(data, "Tensor.Create: data"));
            if (dtype == null)
                throw Elements.Refusal(data, "Tensor.Create: data", "a dtype for it");
            return Create(context, device, dtype.Value, data, dims);
        }

        /// <summary>Creates a tensor as the other overload does, of a type that an array only has
        /// the bits of, such as F16 in ushort. Any thread.</summary>
        public static unsafe Tensor Create(Context context, Device device, Dtype dtype, Array data, params long[] dims)
        {
            Elements.Check(Argument.NotNull(data, "Tensor.Create: data"), dtype, "Tensor.Create: data");
            if (Argument.NotNull(dims, "Tensor.Create: dims").Length == 0)
                dims = Elements.DimsOf(data, 0);
            CheckCount(data.LongLength, dims);
            using (var pinned = new PinnedArray(data, "Tensor.Create: data"))
                return new Tensor(Create(context, device, dtype, dims, pinned.Address), context);
        }

        /// <summary>Sums tensors of one shape element by element, in the order of the list, and
        /// puts the sum into each. Writes every tensor of the list.</summary>
        public static void AllReduce(params Tensor[] tensors)
        {
            if (Argument.NotNull(tensors, "Tensor.AllReduce: tensors").Length == 0)
                throw new ArgumentException("Tensor.AllReduce: tensors is empty, need at least one");
            using (var scope = new NativeScope())
            {
                IntPtr[] handles = scope.HoldAll(tensors, "Tensor.AllReduce: tensors");
                Status status = NativeMethods.troika_tensor_all_reduce(handles, handles.Length, out troika_error error);
                tensors[0].Check(status, ref error);
            }
        }

        /// <summary>Takes another library's DLPack struct without a copy. On success
        /// <paramref name="shared"/> is closed, and the tensor owns the struct; on failure the
        /// caller still owns it. Any thread.</summary>
        /// <exception cref="TroikaException">Unsupported: strides, a type or a device that the
        /// library does not have.</exception>
        public static Tensor FromDlpack(Context context, DlpackTensor shared)
        {
            IntPtr managed = Argument.NotNull(shared, "Tensor.FromDlpack: shared").DangerousGetHandle();
            if (shared.IsClosed || shared.IsInvalid)
                throw new ObjectDisposedException(null, "Tensor.FromDlpack: shared is closed");
            ContextHandle handle = Argument.NotNull(context, "Tensor.FromDlpack: context").Handle;
            TensorHandle tensor;
            troika_error error;
            Status status = shared.IsVersioned
                ? NativeMethods.troika_tensor_from_dlpack_versioned(handle, managed, out tensor, out error)
                : NativeMethods.troika_tensor_from_dlpack(handle, managed, out tensor, out error);
            TroikaException.ThrowIfFailed(status, ref error);
            shared.SetHandleAsInvalid();
            context.ThrowLogFailure();
            return new Tensor(tensor, context);
        }

        /// <summary>Returns a copy of the elements, row-major. Reads the tensor.</summary>
        /// <exception cref="ArgumentException">The elements are not of type T.</exception>
        public T[] ToArray<T>() where T : struct
        {
            TensorInfo info = Info;
            if (!Elements.Holds(typeof(T), info.Dtype))
                throw new ArgumentException("Tensor.ToArray: T is " + typeof(T).Name + ", need a type for elements of " + info.Dtype);
            var data = new T[Elements.Count(info.Dims, "Tensor.ToArray: dims")];
            ToHost(data);
            return data;
        }

        /// <summary>Copies the elements, row-major, into an array of their number. Reads the
        /// tensor.</summary>
        public unsafe void ToHost(Array data)
        {
            Elements.Check(Argument.NotNull(data, "Tensor.ToHost: data"), Info.Dtype, "Tensor.ToHost: data");
            using (var pinned = new PinnedArray(data, "Tensor.ToHost: data"))
            {
                Status status = NativeMethods.troika_tensor_to_host(Handle, pinned.Address, pinned.Bytes, out troika_error error);
                Check(status, ref error);
            }
        }

        /// <summary>Copies an array into the tensor, row-major. Writes the tensor.</summary>
        public unsafe void FromHost(Array data)
        {
            Elements.Check(Argument.NotNull(data, "Tensor.FromHost: data"), Info.Dtype, "Tensor.FromHost: data");
            using (var pinned = new PinnedArray(data, "Tensor.FromHost: data"))
            {
                Status status = NativeMethods.troika_tensor_from_host(Handle, pinned.Address, pinned.Bytes, out troika_error error);
                Check(status, ref error);
            }
        }

        /// <summary>Copies the elements into another tensor of the same shape and type. Reads this
        /// tensor, writes the other.</summary>
        public void Copy(Tensor destination)
        {
            TensorHandle to = Argument.NotNull(destination, "Tensor.Copy: destination").Handle;
            Check(NativeMethods.troika_tensor_copy(Handle, to, out troika_error error), ref error);
        }

        /// <summary>Returns a copy on a device. Reads the tensor.</summary>
        public Tensor To(Device device)
        {
            Status status = NativeMethods.troika_tensor_to(Handle, device, out TensorHandle copy, out troika_error error);
            Check(status, ref error);
            return new Tensor(copy, Context);
        }

        /// <summary>Cuts the tensor along axis 0 into one piece for each device. Sizes differ by at
        /// most one, the larger pieces first. Reads the tensor.</summary>
        public Tensor[] Scatter(IEnumerable<Device> devices)
        {
            Device[] list = Argument.NotNull(devices, "Tensor.Scatter: devices").ToArray();
            var pieces = new IntPtr[list.Length];
            Check(NativeMethods.troika_tensor_scatter(Handle, list, list.Length, pieces, out troika_error error), ref error);
            return Array.ConvertAll(pieces, piece => new Tensor(Owned(piece), Context));
        }

        /// <summary>Shares the memory with another library, in the layout of DLPack 0.8. The memory
        /// stays valid after <see cref="TroikaObject.Dispose"/>. Reads the tensor.</summary>
        public DlpackTensor ToDlpack()
        {
            Check(NativeMethods.troika_tensor_to_dlpack(Handle, out IntPtr managed, out troika_error error), ref error);
            return new DlpackTensor(managed, false);
        }

        /// <summary>Shares the memory as <see cref="ToDlpack"/> does, in the layout of DLPack
        /// 1.0.</summary>
        public DlpackTensor ToDlpackVersioned()
        {
            Status status = NativeMethods.troika_tensor_to_dlpack_versioned(Handle, out IntPtr managed, out troika_error error);
            Check(status, ref error);
            return new DlpackTensor(managed, true);
        }

#if SPAN
        /// <summary>Creates a tensor with a copy of the elements. Any thread.</summary>
        public static unsafe Tensor Create<T>(Context context, Device device, ReadOnlySpan<T> data, params long[] dims)
            where T : struct
        {
            Dtype? dtype = Elements.DtypeOf(new T[0]);
            if (dtype == null)
                throw new ArgumentException("Tensor.Create: data is a span of " + typeof(T).Name + ", need a number");
            CheckCount(data.Length, Argument.NotNull(dims, "Tensor.Create: dims"));
            fixed (byte* bytes = &SpanBytes.Of(data))
                return new Tensor(Create(context, device, dtype.Value, dims, bytes), context);
        }

        /// <summary>Copies the elements, row-major, into a span of their number. Reads the
        /// tensor.</summary>
        public unsafe void ToHost<T>(Span<T> data) where T : struct
        {
            Dtype dtype = Info.Dtype;
            Elements.Check(new T[0], dtype, "Tensor.ToHost: data");
            long size = (long)data.Length * Elements.SizeOf(dtype);
            fixed (byte* bytes = &SpanBytes.Of((ReadOnlySpan<T>)data))
                Check(NativeMethods.troika_tensor_to_host(Handle, bytes, size, out troika_error error), ref error);
        }

        /// <summary>Copies a span into the tensor, row-major. Writes the tensor.</summary>
        public unsafe void FromHost<T>(ReadOnlySpan<T> data) where T : struct
        {
            Dtype dtype = Info.Dtype;
            Elements.Check(new T[0], dtype, "Tensor.FromHost: data");
            long size = (long)data.Length * Elements.SizeOf(dtype);
            fixed (byte* bytes = &SpanBytes.Of(data))
                Check(NativeMethods.troika_tensor_from_host(Handle, bytes, size, out troika_error error), ref error);
        }
#endif

        /// <summary>Returns the hold on a handle that a call returned in an array.</summary>
        internal static TensorHandle Owned(IntPtr value)
        {
            var handle = new TensorHandle();
            handle.Own(value);
            return handle;
        }

        private static void CheckCount(long found, long[] dims)
        {
            long needed = Elements.Count(dims, "Tensor.Create: dims");
            if (found != needed)
                throw new ArgumentException("Tensor.Create: data has " + found + " elements, need " + needed + " for "
                                            + Elements.Text(dims));
        }

        private static unsafe TensorHandle Create(Context context, Device device, Dtype dtype, long[] dims, void* data)
        {
            ContextHandle of = Argument.NotNull(context, "Tensor: context").Handle;
            Status status = NativeMethods.troika_tensor_create(
                of, device, (int)dtype, dims, dims.Length, data, out TensorHandle handle, out troika_error error);
            context.Check(status, ref error);
            return handle;
        }
    }
}
