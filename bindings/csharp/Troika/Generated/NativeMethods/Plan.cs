// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills options as TROIKA_PLAN_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_plan_options_init(
            troika_plan_options* options, uint struct_size);

        /// <summary>Fills result as TROIKA_PLAN_RESULT_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_plan_result_init(
            troika_plan_result* result, uint struct_size);

        /// <summary>Estimates a training step on one mesh. options may be NULL: defaults. mesh may
        /// be NULL: all devices share the batch. If mesh-&gt;data is 0, it is as many as there are
        /// devices for.</summary>
        /// <remarks>
        /// <para>Errors:</para>
        /// <para>- INVALID_ARGUMENT: a field, which the message names; a model with no
        /// output.</para>
        /// <para>- INVALID_ARGUMENT: a mesh that needs another number of devices; more stages than
        /// the model has layers; more parts of a layer than it has channels.</para>
        /// <para>- INVALID_ARGUMENT: parts of the batch that BatchNorm cannot normalise.</para>
        /// <para>- UNSUPPORTED: a parameter shared by layers that a split by channel cuts
        /// differently; logical_shards with a split by layer or channel; devices_per_node with such
        /// a split or with shard_optimizer.</para>
        /// <para>- NOT_FOUND: a pattern of recompute_layers, or in trainer a group or a layer of
        /// layer_cuts, that matches nothing.</para>
        /// <para>- OUT_OF_MEMORY: also if activations cannot fit into
        /// activation_budget_bytes.</para>
        /// <para>- BUSY.</para>
        /// <para>Any thread; reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_plan_estimate(
            ModelHandle model, troika_plan_options* options, troika_mesh* mesh,
            troika_plan_result* out_plan, out troika_error error);

        /// <summary>Estimates every mesh of all options-&gt;devices and returns the fastest whose
        /// memory fits. If several are equally fast, it returns the one with most parts of the
        /// batch, then the one with most devices in a row. Meshes that cannot work are left out.
        /// options may be NULL: defaults.</summary>
        /// <remarks>
        /// <para>Errors:</para>
        /// <para>- NOT_FOUND: no mesh fits; the message says which needs least, and how
        /// much.</para>
        /// <para>- NOT_FOUND: no mesh works; the message says why the first does not.</para>
        /// <para>- NOT_FOUND: a name or pattern that matches nothing, as in
        /// troika_plan_estimate.</para>
        /// <para>- INVALID_ARGUMENT (names the field; a model with no output), OUT_OF_MEMORY,
        /// BUSY.</para>
        /// <para>Any thread; reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_plan_choose(
            ModelHandle model, troika_plan_options* options, troika_plan_result* out_plan,
            out troika_error error);
    }
}
