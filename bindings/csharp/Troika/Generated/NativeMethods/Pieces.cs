// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills options as TROIKA_FORWARD_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_forward_options_init(
            troika_forward_options* options, uint struct_size);

        /// <summary>Runs the forward pass of a training step on a batch, on all devices.
        /// *out_output, if not NULL, receives a new f32 tensor [batch, the output's shape] on the
        /// first device. out_result, if not NULL, receives loss, samples, labels, correct and
        /// seconds; with own_loss, samples and seconds. options may be NULL: defaults.</summary>
        /// <remarks>
        /// <para>The activations stay until the next call that computes: a step, a forward pass, an
        /// evaluation, a prediction, troika_trainer_apply, or one that compiles a plan or loads a
        /// state.</para>
        /// <para>Dropout draws the masks of a step, and others in each pass that is added to
        /// earlier ones. Returns STOPPED after troika_trainer_request_stop, and does
        /// nothing.</para>
        /// <para>Owned: destroy *out_output. Errors: those of troika_trainer_step; INVALID_ARGUMENT
        /// also for a batch without targets and without own_loss, and for input_gradient with
        /// tokens; UNSUPPORTED also for input_gradient if the output does not depend on the input.
        /// One thread per trainer at a time; reads the batch.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_forward(
            TrainerHandle trainer, BatchHandle batch, troika_forward_options* options,
            out TensorHandle out_output, troika_step_result* out_result, out troika_error error);

        /// <summary>Runs the backward pass of the last forward pass, and sums the gradients over
        /// all devices. They are added to those that are there since the last apply: several
        /// forward and backward passes before one apply accumulate gradients. output_gradient, f32
        /// [batch, the output's shape], is the gradient of the caller's loss with respect to the
        /// output; NULL without own_loss.</summary>
        /// <remarks>
        /// <para>The gradient of a mean loss is that of the mean over its own batch: sums of
        /// several such passes are sums of means. A step, a load, or a change of frozen parameters
        /// discards the gradients.</para>
        /// <para>The caller's loss is whatever has this gradient; for a mean over a batch it has
        /// the factor 1 / samples. With loss scaling, the library multiplies by the scale.</para>
        /// <para>Errors: NOT_INITIALIZED (no forward pass, or its activations are no longer there),
        /// INVALID_ARGUMENT (a gradient that is missing, not needed, or of another shape),
        /// OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time; reads
        /// output_gradient.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_backward(
            TrainerHandle trainer, TensorHandle output_gradient, out troika_error error);

        /// <summary>Copies the gradient of the inputs of the last backward pass into data in host
        /// memory, size_bytes long: f32, row-major, in the shape of the batch's inputs, without the
        /// loss scale. Errors: NOT_INITIALIZED (no backward pass with input_gradient),
        /// INVALID_ARGUMENT (the size differs), OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per
        /// trainer at a time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_input_gradient(
            TrainerHandle trainer, float* data, long size_bytes, out troika_error error);

        /// <summary>Replaces the gradient of a parameter, on all devices, by data in host memory,
        /// size_bytes long: f32, row-major, in the parameter's shape, without the loss scale.
        /// troika_trainer_get_gradient reads it. It holds until the next backward pass adds to it,
        /// or until apply.</summary>
        /// <remarks>
        /// <para>Errors: NOT_FOUND (no such name), NOT_INITIALIZED (a frozen parameter, a buffer;
        /// no backward pass since the last apply), INVALID_ARGUMENT (the size differs),
        /// OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_set_gradient(
            TrainerHandle trainer, byte[] name, float* data, long size_bytes,
            out troika_error error);

        /// <summary>Updates the parameters with the gradients that are there: clipping, optimizer,
        /// averages. The step counts as one of troika_trainer_step. The next backward pass begins
        /// with new gradients. out_result, if not NULL, receives step, learning rate, loss scale
        /// and the norm of the gradient.</summary>
        /// <remarks>
        /// <para>Returns STEP_SKIPPED as troika_trainer_step does.</para>
        /// <para>Errors: NOT_INITIALIZED (no backward pass since the last apply), OUT_OF_MEMORY,
        /// BUSY, COMM, DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_apply(
            TrainerHandle trainer, troika_step_result* out_result, out troika_error error);
    }
}
