// Written by bindings/generate.py from the C headers; do not edit.

using System;

namespace Troika.Native
{
    /// <summary>The root object. There is no other global state, so several contexts live in one
    /// process. Counted: models, trainers, tensors, datasets and loaders keep their context alive,
    /// so handles may be destroyed in any order.</summary>
    internal sealed class ContextHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_context_destroy(value);
    }

    /// <summary>Samples and their targets: in host memory, or read by a callback of the host.
    /// Counted.</summary>
    internal sealed class DatasetHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_dataset_destroy(value);
    }

    /// <summary>Batches of a dataset, epoch after epoch. Counted.</summary>
    internal sealed class LoaderHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_loader_destroy(value);
    }

    /// <summary>A batch: inputs [batch, ...], f32 or tokens i32, and targets. Counted.</summary>
    internal sealed class BatchHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_batch_destroy(value);
    }

    /// <summary>A record of operations. It holds the tensors that it has recorded until it is
    /// destroyed.</summary>
    internal sealed class GradientsHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_gradients_destroy(value);
    }

    /// <summary>The processes of a job. Counted: trainers keep their group alive.</summary>
    internal sealed class GroupHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_group_destroy(value);
    }

    /// <summary>A network of named layers. Counted. A model and the trainers that it is attached to
    /// share parameters.</summary>
    internal sealed class ModelHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_model_destroy(value);
    }

    /// <summary>A step that was started and may not have ended. Counted; keeps its trainer alive
    /// until then.</summary>
    internal sealed class PendingHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_pending_destroy(value);
    }

    /// <summary>An n-dimensional array on one device, dense and row-major. Counted.</summary>
    internal sealed class TensorHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_tensor_destroy(value);
    }

    /// <summary>A model attached to a list of devices, which share its batches, layers and
    /// channels. Counted.</summary>
    internal sealed class TrainerHandle : NativeHandle
    {
        protected override void Destroy(IntPtr value) => NativeMethods.troika_trainer_destroy(value);
    }
}
