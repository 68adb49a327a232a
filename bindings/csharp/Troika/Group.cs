using System;
using Troika.Native;

namespace Troika
{
    /// <summary>The processes of a job, on one machine or several, that train together. All of them
    /// make the collective calls, in the same order; otherwise the calls fail with Comm. One thread
    /// at a time.</summary>
    public sealed class Group : TroikaObject
    {
        /// <summary>Joins a group, and returns when all processes have joined. null: as the
        /// launcher of the process says, or a group of one.</summary>
        /// <exception cref="TroikaException">Comm, which names the ranks that are missing, or
        /// InvalidArgument, which names the option.</exception>
        public Group(Context context, GroupOptions options = null)
            : base(Create(context, options ?? new GroupOptions()), context)
        {
            Context.ThrowLogFailure();
        }

        /// <summary>The place of this process. Any thread.</summary>
        public unsafe GroupInfo Info
        {
            get
            {
                troika_group_info info = troika_group_info.Default();
                Check(NativeMethods.troika_group_describe(Handle, &info, out troika_error error), ref error);
                return new GroupInfo(&info);
            }
        }

        internal GroupHandle Handle => (GroupHandle)Live;

        /// <summary>Returns when all processes have called it. Collective.</summary>
        public void Barrier() =>
            Check(NativeMethods.troika_group_barrier(Handle, out troika_error error), ref error);

        /// <summary>Replaces the elements of a tensor by their sums over all processes.
        /// Collective.</summary>
        /// <exception cref="TroikaException">Mismatch, which names the rank and what
        /// differs.</exception>
        public void AllReduce(Tensor tensor) =>
            Check(NativeMethods.troika_group_all_reduce(Handle, HandleOf(tensor), out troika_error error), ref error);

        /// <summary>Replaces the elements of a tensor by those of process <paramref name="root"/>.
        /// Collective.</summary>
        public void Broadcast(Tensor tensor, int root = 0) =>
            Check(NativeMethods.troika_group_broadcast(Handle, HandleOf(tensor), root, out troika_error error), ref error);

        /// <summary>Returns the tensors of all processes, one after another along axis 0. Their
        /// sizes along it may differ. Collective.</summary>
        public Tensor AllGather(Tensor tensor)
        {
            Status status = NativeMethods.troika_group_all_gather(
                Handle, HandleOf(tensor), out TensorHandle gathered, out troika_error error);
            Check(status, ref error);
            return new Tensor(gathered, tensor.Context);
        }

        /// <summary>Returns this process's rows of the sum over all processes.
        /// Collective.</summary>
        public Tensor ReduceScatter(Tensor tensor)
        {
            Status status = NativeMethods.troika_group_reduce_scatter(
                Handle, HandleOf(tensor), out TensorHandle rows, out troika_error error);
            Check(status, ref error);
            return new Tensor(rows, tensor.Context);
        }

        /// <summary>Sends the elements of a tensor to a process, which receives them.</summary>
        public void Send(Tensor tensor, int to) =>
            Check(NativeMethods.troika_group_send(Handle, HandleOf(tensor), to, out troika_error error), ref error);

        /// <summary>Replaces the elements of a tensor by those that a process sends. Messages of
        /// one process arrive in the order of their sends.</summary>
        public void Receive(Tensor tensor, int from) =>
            Check(NativeMethods.troika_group_receive(Handle, HandleOf(tensor), from, out troika_error error), ref error);

        private static TensorHandle HandleOf(Tensor tensor) => Argument.NotNull(tensor, "Group: tensor").Handle;

        private static unsafe GroupHandle Create(Context context, GroupOptions options)
        {
            ContextHandle of = Argument.NotNull(context, "Group: context").Handle;
            using (var scope = new NativeScope())
            {
                troika_group_options raw;
                options.WriteTo(&raw, scope);
                Status status = NativeMethods.troika_group_create(of, &raw, out GroupHandle handle, out troika_error error);
                TroikaException.ThrowIfFailed(status, ref error);
                return handle;
            }
        }
    }
}
