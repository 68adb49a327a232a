// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

/// Most inputs of a layer that [`troika_layer_info`](crate::troika_layer_info) lists.
pub const TROIKA_MAX_LAYER_INPUTS: i32 = 8;

/// Description of a layer. Filled by
/// [`troika_model_describe_layer`](crate::troika_model_describe_layer).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_layer_info {
    /// Set by the caller to sizeof([`troika_layer_info`](crate::troika_layer_info)).
    pub struct_size: u32,
    /// Values that the layer reads.
    pub input_count: i32,
    /// The first of them; 0 beyond the last.
    pub inputs: [troika_value; 8],
    /// The layer's output.
    pub output: troika_value,
    /// Elements of the layer's parameters.
    pub parameters: i64,
    /// Operations of the forward pass for one sample.
    pub operations: f64,
    /// Type of the output: [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32) and so on.
    pub dtype: i32,
    /// Rank of one sample's output.
    pub rank: i32,
    /// Shape of one sample's output; 0 beyond rank.
    pub dims: [i64; 8],
    /// "conv2d" for a layer of [`troika_model_add_conv2d`](crate::troika_model_add_conv2d), and so
    /// on; "input" for the input.
    pub kind: [c_char; 64],
    /// "layer1.0.conv1".
    pub name: [c_char; 256],
}

/// Description of a model. Filled by [`troika_model_describe`](crate::troika_model_describe).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_model_info {
    /// Set by the caller to sizeof([`troika_model_info`](crate::troika_model_info)).
    pub struct_size: u32,
    /// 1: the output is set.
    pub is_complete: i32,
    /// Layers, with the input as layer 0.
    pub layers: i32,
    /// Parameters and buffers together.
    pub entries: i32,
    /// Elements of all parameters.
    pub parameters: i64,
    /// Operations of the forward pass for one sample; a product and its sum are 2.
    pub operations: f64,
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32), or
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32) for tokens; 0 without an input.
    pub input_dtype: i32,
    /// Rank of a sample, without the batch.
    pub input_rank: i32,
    /// Shape of a sample; 0 beyond `input_rank`.
    pub input_dims: [i64; 8],
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32); 0 if the model is not complete.
    pub output_dtype: i32,
    /// Rank of one sample's output.
    pub output_rank: i32,
    /// Shape of one sample's output.
    pub output_dims: [i64; 8],
    /// The model's name.
    pub name: [c_char; 256],
}

/// Description of a trainer. Filled by [`troika_trainer_describe`](crate::troika_trainer_describe).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_trainer_info {
    /// Set by the caller to sizeof([`troika_trainer_info`](crate::troika_trainer_info)).
    pub struct_size: u32,
    /// Devices, and replicas, of this process.
    pub device_count: i32,
    /// How the devices of all processes share the work; no part is 0.
    pub mesh: troika_mesh,
    /// Steps done, also those before a training state was loaded.
    pub step: i64,
    /// The rate of the next step, with schedule.
    pub learning_rate: f64,
    /// The scale of the next step; 1 without.
    pub loss_scale: f64,
    /// Elements of the parameters that are trained.
    pub trained_elements: i64,
    /// Parameters that are trained.
    pub trained_entries: i32,
    /// 1; 0 after an error that is permanent:
    /// [`TROIKA_ERROR_DETACHED`](crate::TROIKA_ERROR_DETACHED),
    /// [`TROIKA_ERROR_COMM`](crate::TROIKA_ERROR_COMM).
    pub is_usable: i32,
}

/// Description of a value. Filled by
/// [`troika_model_describe_value`](crate::troika_model_describe_value).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_value_info {
    /// Set by the caller to sizeof([`troika_value_info`](crate::troika_value_info)).
    pub struct_size: u32,
    /// Index of the layer whose output the value is.
    pub layer: i32,
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32) and so on.
    pub dtype: i32,
    /// Rank of one sample's value, without the batch.
    pub rank: i32,
    /// Shape of one sample's value; 0 beyond rank.
    pub dims: [i64; 8],
}

extern "C" {
    /// Returns the name of model index of the zoo, for
    /// [`troika_model_create`](crate::troika_model_create); NULL beyond the last. Borrowed: static
    /// text. Never fails. Any thread.
    pub fn troika_zoo_name(index: i32) -> *const c_char;

    /// Fills info as `TROIKA_MODEL_INFO_INIT` does. Any thread.
    pub fn troika_model_info_init(info: *mut troika_model_info, struct_size: u32);

    /// Describes a model, which need not be complete. Errors: BUSY. Reads the model.
    pub fn troika_model_describe(
        model: troika_model,
        out_info: *mut troika_model_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_LAYER_INFO_INIT` does. Any thread.
    pub fn troika_layer_info_init(info: *mut troika_layer_info, struct_size: u32);

    /// Describes layer index (0 . . layers - 1, in the order in which layers were added). Errors:
    /// NOT_FOUND (no such index), BUSY. Reads the model.
    pub fn troika_model_describe_layer(
        model: troika_model,
        index: i32,
        out_info: *mut troika_layer_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns the index of the layer with that name in \*`out_index`. Errors: NOT_FOUND (no such
    /// layer; the message names the nearest), BUSY. Reads the model.
    pub fn troika_model_find_layer(
        model: troika_model,
        name: *const c_char,
        out_index: *mut i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_VALUE_INFO_INIT` does. Any thread.
    pub fn troika_value_info_init(info: *mut troika_value_info, struct_size: u32);

    /// Describes a value of a model. Errors: INVALID_ARGUMENT (a value that is not this model's),
    /// BUSY. Reads the model.
    pub fn troika_model_describe_value(
        model: troika_model,
        value: troika_value,
        out_info: *mut troika_value_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the description of a model as one JSON object: name, input, output, layers with
    /// kinds, wiring, settings and shapes, parameters and buffers (entries). The rules for the
    /// buffer are those of [`troika_model_print`](crate::troika_model_print).
    ///
    /// Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. Reads the model.
    pub fn troika_model_to_json(
        model: troika_model,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_TRAINER_INFO_INIT` does. Any thread.
    pub fn troika_trainer_info_init(info: *mut troika_trainer_info, struct_size: u32);

    /// Describes a trainer. Errors: BUSY. One thread per trainer at a time.
    pub fn troika_trainer_describe(
        trainer: troika_trainer,
        out_info: *mut troika_trainer_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies the trainer's devices of this process, in the order of replicas, into devices, which
    /// has room for `device_capacity` of them. If `out_device_count` is not NULL, it receives their
    /// number. An array that is too small, or NULL with capacity 0, is no error.
    ///
    /// Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. One thread per trainer at a time.
    pub fn troika_trainer_get_devices(
        trainer: troika_trainer,
        devices: *mut troika_device,
        device_capacity: i32,
        out_device_count: *mut i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns the options that the trainer was attached with. Fields that were unset have the
    /// values that the trainer uses. Another model can be attached with these options. Borrowed
    /// until the trainer is destroyed: groups, texts and arrays. A library of a later version may
    /// have longer groups: group i begins i \* groups-\>`struct_size` bytes after the first.
    ///
    /// These fields stay unset, because that is their value: settings that the optimizer does not
    /// have, `ignore_index`, `layer_cuts`, `recompute_layers`, and the fields with which a group
    /// follows the trainer. group is always NULL: the handle is the caller's. Set it again to
    /// attach another model with the same processes.
    ///
    /// Errors: BUSY. One thread per trainer at a time.
    pub fn troika_trainer_get_options(
        trainer: troika_trainer,
        out_options: *mut troika_trainer_options,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the description of a trainer as one JSON object: model, devices, mesh, step, options,
    /// optimizer and groups. The rules for the buffer are those of
    /// [`troika_model_print`](crate::troika_model_print).
    ///
    /// Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. One thread per trainer at a time.
    pub fn troika_trainer_to_json(
        trainer: troika_trainer,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;
}
