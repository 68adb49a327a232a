// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Returns the name of model index of the zoo, for troika_model_create; NULL
        /// beyond the last. Borrowed: static text. Never fails. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr troika_zoo_name(int index);

        /// <summary>Fills info as TROIKA_MODEL_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_model_info_init(
            troika_model_info* info, uint struct_size);

        /// <summary>Describes a model, which need not be complete. Errors: BUSY. Reads the
        /// model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_describe(
            ModelHandle model, troika_model_info* out_info, out troika_error error);

        /// <summary>Fills info as TROIKA_LAYER_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_layer_info_init(
            troika_layer_info* info, uint struct_size);

        /// <summary>Describes layer index (0 . . layers - 1, in the order in which layers were
        /// added). Errors: NOT_FOUND (no such index), BUSY. Reads the model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_describe_layer(
            ModelHandle model, int index, troika_layer_info* out_info, out troika_error error);

        /// <summary>Returns the index of the layer with that name in *out_index. Errors: NOT_FOUND
        /// (no such layer; the message names the nearest), BUSY. Reads the model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_find_layer(
            ModelHandle model, byte[] name, out int out_index, out troika_error error);

        /// <summary>Fills info as TROIKA_VALUE_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_value_info_init(
            troika_value_info* info, uint struct_size);

        /// <summary>Describes a value of a model. Errors: INVALID_ARGUMENT (a value that is not
        /// this model's), BUSY. Reads the model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_describe_value(
            ModelHandle model, long value, troika_value_info* out_info, out troika_error error);

        /// <summary>Writes the description of a model as one JSON object: name, input, output,
        /// layers with kinds, wiring, settings and shapes, parameters and buffers (entries). The
        /// rules for the buffer are those of troika_model_print.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. Reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_to_json(
            ModelHandle model, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Fills info as TROIKA_TRAINER_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_trainer_info_init(
            troika_trainer_info* info, uint struct_size);

        /// <summary>Describes a trainer. Errors: BUSY. One thread per trainer at a time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_describe(
            TrainerHandle trainer, troika_trainer_info* out_info, out troika_error error);

        /// <summary>Copies the trainer's devices of this process, in the order of replicas, into
        /// devices, which has room for device_capacity of them. If out_device_count is not NULL, it
        /// receives their number. An array that is too small, or NULL with capacity 0, is no
        /// error.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. One thread per trainer at a
        /// time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_devices(
            TrainerHandle trainer, [Out] Device[] devices, int device_capacity,
            out int out_device_count, out troika_error error);

        /// <summary>Returns the options that the trainer was attached with. Fields that were unset
        /// have the values that the trainer uses. Another model can be attached with these options.
        /// Borrowed until the trainer is destroyed: groups, texts and arrays. A library of a later
        /// version may have longer groups: group i begins i * groups-&gt;struct_size bytes after
        /// the first.</summary>
        /// <remarks>
        /// <para>These fields stay unset, because that is their value: settings that the optimizer
        /// does not have, ignore_index, layer_cuts, recompute_layers, and the fields with which a
        /// group follows the trainer. group is always NULL: the handle is the caller's. Set it
        /// again to attach another model with the same processes.</para>
        /// <para>Errors: BUSY. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_options(
            TrainerHandle trainer, troika_trainer_options* out_options, out troika_error error);

        /// <summary>Writes the description of a trainer as one JSON object: model, devices, mesh,
        /// step, options, optimizer and groups. The rules for the buffer are those of
        /// troika_model_print.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. One thread per trainer at a
        /// time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_to_json(
            TrainerHandle trainer, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);
    }
}
