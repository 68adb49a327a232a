// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::{c_char, c_void};

// Kinds of initialiser. Fans are PyTorch's: for a shape [o, i, k...], fan_in = i * product of k,
// and fan_out = o * product of k. Initialisers that use them need rank 2 or above.
/// a everywhere.
pub const TROIKA_INIT_CONSTANT: i32 = 1;
/// Mean 0, standard deviation a.
pub const TROIKA_INIT_NORMAL: i32 = 2;
/// Between -a and a.
pub const TROIKA_INIT_UNIFORM: i32 = 3;
/// Normal, std sqrt(2 / `fan_in`) (He et al. 2015).
pub const TROIKA_INIT_KAIMING_NORMAL: i32 = 4;
/// Uniform, bound sqrt(6 / `fan_in`).
pub const TROIKA_INIT_KAIMING_UNIFORM: i32 = 5;
/// Normal, std sqrt(2 / (`fan_in` + `fan_out`)) (Glorot and Bengio 2010).
pub const TROIKA_INIT_XAVIER_NORMAL: i32 = 6;
/// Uniform, bound sqrt(6 / (`fan_in` + `fan_out`)).
pub const TROIKA_INIT_XAVIER_UNIFORM: i32 = 7;

/// Options of [`troika_model_load`](crate::troika_model_load). Begin with
/// `TROIKA_LOAD_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_load_options {
    /// sizeof([`troika_load_options`](crate::troika_load_options)).
    pub struct_size: u32,
    /// 0 (default): names that differ are [`TROIKA_ERROR_MISMATCH`](crate::TROIKA_ERROR_MISMATCH).
    /// 1: loads the names that are in both.
    pub allow_partial: i32,
    /// Removed from the beginning of every name in the file, such as "module."; NULL: none.
    pub strip_prefix: *const c_char,
    /// 0 (default): shapes or dtypes that differ are
    /// [`TROIKA_ERROR_MISMATCH`](crate::TROIKA_ERROR_MISMATCH). 1: such parameters keep their
    /// values, and the report names them: for a last layer of another number of classes.
    pub skip_mismatching: i32,
    /// 0.
    pub reserved: i32,
    /// Patterns of names in the model, separated by commas, such as "fc.\*": parameters and buffers
    /// that keep their values, whatever the file has. NULL: none.
    pub skip: *const c_char,
    /// The model's names for those of the file, after `strip_prefix`: rules "name in file=name in
    /// model", separated by commas. The first rule that fits a whole name applies; \* is any run of
    /// characters, the same on both sides: "encoder.\*=backbone.\*". Also the name of a table:
    /// "d2l" for the ResNet-18 of Dive into Deep Learning, "torchvision" for torchvision's models,
    /// also within a module. NULL: the file has the model's names.
    pub name_map: *const c_char,
}

/// Report on loading. Filled by [`troika_model_load`](crate::troika_model_load).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_load_report {
    /// Set by the caller to sizeof([`troika_load_report`](crate::troika_load_report)).
    pub struct_size: u32,
    /// Parameters and buffers that took a value.
    pub loaded: i32,
    /// In the model, not in the file; `num_batches_tracked` is never missing.
    pub missing: i32,
    /// In the file, not in the model.
    pub unexpected: i32,
    /// In both, with another shape or dtype.
    pub mismatching: i32,
    /// In the model, and not loaded because of skip.
    pub kept: i32,
    /// The first missing, unexpected and mismatching names, in whole lines, one line per name:
    /// "missing fc.bias", "unexpected x", "mismatching x: file F32 \[9\], model F32 \[5\]". If not
    /// all fit, the last line is "... and N more".
    pub names: [c_char; 4096],
}

/// Options of [`troika_model_create`](crate::troika_model_create). Begin with
/// `TROIKA_MODEL_OPTIONS_INIT`. A field that is unset takes the model's own default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_model_options {
    /// sizeof([`troika_model_options`](crate::troika_model_options)).
    pub struct_size: u32,
    /// 0.
    pub reserved: i32,
    /// Outputs of the last layer. Default 10 (d2l_\*, resnet9, mlp), 1000 (resnet18, 34 and 50) or
    /// 256 (`char_lstm`: also the words of its embedding).
    pub classes: i64,
    /// Default 1 (d2l_\*, resnet9, mlp) or 3 (resnet18, 34 and 50).
    pub input_channels: i64,
    /// Default 28 (d2l_\*, resnet9, mlp) or 224 (resnet18, 34 and 50).
    pub input_height: i64,
    /// Default: `input_height` if that is set, else as its default.
    pub input_width: i64,
    /// Units of the hidden layer; default 256 (mlp) or 128 (`char_lstm`).
    pub hidden: i64,
    /// `char_lstm`: tokens of a sample, default 64.
    pub steps: i64,
}

/// Description of a parameter or buffer. Filled by
/// [`troika_model_describe_parameter`](crate::troika_model_describe_parameter).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_parameter_info {
    /// Set by the caller to sizeof([`troika_parameter_info`](crate::troika_parameter_info)).
    pub struct_size: u32,
    /// [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32), or
    /// [`TROIKA_DTYPE_I64`](crate::TROIKA_DTYPE_I64) for `num_batches_tracked`.
    pub dtype: i32,
    /// Number of dimensions.
    pub rank: i32,
    /// 1: a buffer that no optimizer updates (running statistics).
    pub is_buffer: i32,
    /// 1: it has a value.
    pub is_initialized: i32,
    /// 0.
    pub reserved: i32,
    /// Sizes; 0 beyond rank.
    pub dims: [i64; 8],
    /// "conv1.weight".
    pub name: [c_char; 256],
}

extern "C" {
    /// Initialises every parameter whose name matches pattern (\* any run of characters, ? any one;
    /// NULL: all). Initialisers that use fans leave out parameters with one axis, such as biases,
    /// and those of norms; those of them without a value take the model's default. The values
    /// depend only on seed and the parameter's name: they are the same on any machine and for any
    /// number of devices. Buffers are not matched. Those without a value start: 1 for
    /// `running_var`, 0 for the others.
    ///
    /// Errors: NOT_FOUND if nothing matches, INVALID_ARGUMENT (the initialiser, a, fans if all that
    /// match have one axis), OUT_OF_MEMORY, BUSY.
    pub fn troika_model_initialize(
        model: troika_model,
        pattern: *const c_char,
        initializer: i32,
        a: f64,
        seed: u64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Initialises the parameters parameter of the layers of some kinds: those of
    /// [`troika_model_describe_layer`](crate::troika_model_describe_layer), separated by commas.
    /// "linear,conv2d" and "weight" are the weights of all linear layers and convolutions, and not
    /// those of BatchNorm. parameter may be a pattern. Values as those of
    /// [`troika_model_initialize`](crate::troika_model_initialize).
    ///
    /// Errors: those of [`troika_model_initialize`](crate::troika_model_initialize); NOT_FOUND also
    /// for a kind that no layer has.
    pub fn troika_model_initialize_layers(
        model: troika_model,
        kinds: *const c_char,
        parameter: *const c_char,
        initializer: i32,
        a: f64,
        seed: u64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Initialises every parameter and buffer by the model's default, which is PyTorch's for each
    /// layer:
    ///
    /// - convolution and linear: weights and biases uniform within 1/sqrt(`fan_in`).
    /// - LSTM and GRU: weights and biases uniform within 1/sqrt(hidden).
    /// - embedding: weight normal with standard deviation 1.
    /// - norms: weight 1, bias 0; BatchNorm also `running_mean` 0, `running_var` 1,
    ///   `num_batches_tracked` 0.
    ///
    /// The default of `d2l_lenet` and `d2l_resnet18`\* is the tutorial's for convolution and
    /// linear: weights normal with standard deviation 0.01, biases 0.
    /// [`troika_model_attach`](crate::troika_model_attach) does this with the context's seed for
    /// parameters that have no value yet.
    ///
    /// Errors: OUT_OF_MEMORY, BUSY.
    pub fn troika_model_initialize_default(
        model: troika_model,
        seed: u64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills info as `TROIKA_PARAMETER_INFO_INIT` does. Any thread.
    pub fn troika_parameter_info_init(info: *mut troika_parameter_info, struct_size: u32);

    /// Returns the number of parameters and buffers together in \*`out_entries`, and the number of
    /// elements of all parameters in \*`out_elements`. Either pointer may be NULL.
    ///
    /// Errors: BUSY. Reads the model.
    pub fn troika_model_count_parameters(
        model: troika_model,
        out_entries: *mut i32,
        out_elements: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Describes parameter or buffer index (0 . . entries - 1, in the order of creation). Errors:
    /// NOT_FOUND (no such index), BUSY. Reads the model.
    pub fn troika_model_describe_parameter(
        model: troika_model,
        index: i32,
        out_info: *mut troika_parameter_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns the index of the parameter or buffer with that name in \*`out_index`, for
    /// [`troika_model_describe_parameter`](crate::troika_model_describe_parameter). Errors:
    /// NOT_FOUND (no such name; the message names the nearest), BUSY. Reads the model.
    pub fn troika_model_find_parameter(
        model: troika_model,
        name: *const c_char,
        out_index: *mut i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies a parameter or buffer, row-major, into data in host memory, `size_bytes` long: f32,
    /// or i64 for `num_batches_tracked`. Errors: NOT_FOUND (no such name), NOT_INITIALIZED (names
    /// the parameter), INVALID_ARGUMENT if the size differs, OUT_OF_MEMORY, BUSY also while the
    /// model's trainer is in a call. Reads the model.
    pub fn troika_model_get_parameter(
        model: troika_model,
        name: *const c_char,
        data: *mut c_void,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Copies data, row-major in host memory, `size_bytes` long, into a parameter or buffer. A
    /// trainer of the model takes the value before its next step.
    ///
    /// Errors: NOT_FOUND (no such name), INVALID_ARGUMENT if the size differs, OUT_OF_MEMORY, BUSY
    /// also while the model's trainer is in a call.
    pub fn troika_model_set_parameter(
        model: troika_model,
        name: *const c_char,
        data: *const c_void,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes the model as a tree, as PyTorch's repr does, with the output shape, the number of
    /// parameters and the operations of one sample for each layer. The buffer holds capacity bytes
    /// and is always NUL-terminated. If `out_size` is not NULL, it receives the bytes needed,
    /// including the NUL. A buffer that is too small, or NULL with capacity 0, is no error.
    ///
    /// Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. Reads the model.
    pub fn troika_model_print(
        model: troika_model,
        buffer: *mut c_char,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills options as `TROIKA_MODEL_OPTIONS_INIT` does. Any thread.
    pub fn troika_model_options_init(options: *mut troika_model_options, struct_size: u32);

    /// Builds a model of the zoo:
    ///
    /// - `d2l_lenet`
    /// - `d2l_resnet18`: 3x3 stem, no max-pool.
    /// - `d2l_resnet18_stem7`: 7x7 stem and max-pool.
    /// - resnet9: a small and fast one with residual blocks, of 16 to 128 channels, for small
    ///   images (Page 2018, with a quarter of the channels).
    /// - resnet18, resnet34, resnet50: torchvision's layers and parameter names.
    /// - mlp
    /// - `char_lstm`: a language model of characters. It has an embedding of 64 features, one LSTM
    ///   and a linear layer per position.
    ///
    /// The input is \[batch, channels, height, width\], the output \[batch, classes\]. The input of
    /// `char_lstm` is tokens i32 \[batch, steps\], and its output \[batch, steps, classes\]: after
    /// each token, the logits of the next one. options may be NULL.
    ///
    /// Owned: destroy \*`out_model` with [`troika_model_destroy`](crate::troika_model_destroy).
    /// Errors: NOT_FOUND (the message lists the names), INVALID_ARGUMENT (an option below 1, an
    /// option that this model does not have, an image too small for its layers), OUT_OF_MEMORY. Any
    /// thread.
    pub fn troika_model_create(
        context: troika_context,
        name: *const c_char,
        options: *const troika_model_options,
        out_model: *mut troika_model,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a model with no layers, to be built layer by layer. name is UTF-8 of 1 to 200 bytes,
    /// without control characters.
    ///
    /// Owned: destroy \*`out_model` with [`troika_model_destroy`](crate::troika_model_destroy).
    /// Errors: INVALID_ARGUMENT (the name), OUT_OF_MEMORY. Any thread.
    pub fn troika_model_create_empty(
        context: troika_context,
        name: *const c_char,
        out_model: *mut troika_model,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads a model from a file of [`troika_model_save`](crate::troika_model_save),
    /// [`troika_trainer_save`](crate::troika_trainer_save) or
    /// [`troika_trainer_save_average`](crate::troika_trainer_save_average): its layers and its
    /// weights. Owned: destroy \*`out_model` with
    /// [`troika_model_destroy`](crate::troika_model_destroy). Errors:
    ///
    /// - NOT_FOUND (no such file), IO.
    /// - CORRUPT: its format, the checksum of its data, or layers that cannot be.
    /// - MISMATCH: a file with weights alone, such as one of PyTorch; layers and weights that
    ///   differ.
    /// - UNSUPPORTED: a kind of layer, or a setting, that this library does not have; more than 16
    ///   MiB of layers, or too many nodes for little text (docs/files.md).
    /// - OUT_OF_MEMORY.
    ///
    /// Any thread.
    pub fn troika_model_open(
        context: troika_context,
        path: *const c_char,
        out_model: *mut troika_model,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads a model as [`troika_model_open`](crate::troika_model_open) does, from `size_bytes`
    /// bytes in host memory, which are those of a file. Owned: destroy \*`out_model`. Errors: those
    /// of [`troika_model_open`](crate::troika_model_open) except NOT_FOUND and IO. Any thread.
    pub fn troika_model_open_memory(
        context: troika_context,
        data: *const c_void,
        size_bytes: i64,
        out_model: *mut troika_model,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns another model with the same layers that shares the values of parameters: what one of
    /// them learns or loads, the other has. Each takes calls of its own, so that a call on one gets
    /// no BUSY because of the other, except while a trainer computes. So a host can load newer
    /// values into a clone while other threads predict: each prediction has all old values or all
    /// new ones. Both share the weights on devices. If one is attached, an earlier trainer of the
    /// other is detached.
    ///
    /// Owned: destroy \*`out_clone` with [`troika_model_destroy`](crate::troika_model_destroy).
    /// Errors: INVALID_ARGUMENT (a model that is not complete), OUT_OF_MEMORY, BUSY. Reads the
    /// model.
    pub fn troika_model_clone(
        model: troika_model,
        out_clone: *mut troika_model,
        error: *mut troika_error,
    ) -> troika_status;

    /// Gives up the caller's hold on a model; a trainer of the model keeps it alive. NULL is
    /// ignored. Never fails. Any thread, but not while another is inside a call with the same
    /// handle.
    pub fn troika_model_destroy(model: troika_model);

    /// Fills report as `TROIKA_LOAD_REPORT_INIT` does. Any thread.
    pub fn troika_load_report_init(report: *mut troika_load_report, struct_size: u32);

    /// Fills options as `TROIKA_LOAD_OPTIONS_INIT` does. Any thread.
    pub fn troika_load_options_init(options: *mut troika_load_options, struct_size: u32);

    /// Writes the model to one safetensors file: every parameter and buffer under PyTorch's names,
    /// and the layers as text in the file's metadata. PyTorch reads the weights of such a file;
    /// [`troika_model_open`](crate::troika_model_open) reads all of it, up to 16 MiB of layers.
    /// Atomic: whatever happens, the file at path is either the complete old one or the complete
    /// new one.
    ///
    /// Errors: NOT_INITIALIZED (names the parameter), IO, OUT_OF_MEMORY, BUSY also while the
    /// model's trainer is in a call. Reads the model.
    pub fn troika_model_save(
        model: troika_model,
        path: *const c_char,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads parameters and buffers from a safetensors file; layers in it are ignored. Checks the
    /// whole file first: a refused file changes nothing. The file may also be a training state of
    /// [`troika_trainer_save`](crate::troika_trainer_save); its optimizer state is ignored. options
    /// and `out_report` may be NULL; the report is filled for MISMATCH too, except for that of a
    /// map.
    ///
    /// Errors:
    ///
    /// - NOT_FOUND (no such file), IO.
    /// - CORRUPT: its format, or the checksum of its data.
    /// - MISMATCH: names, shapes or dtypes; two names that the map makes one; a rule of the map
    ///   that fits no name; also if nothing at all can be loaded.
    /// - INVALID_ARGUMENT (an option; a pattern of skip that matches nothing), OUT_OF_MEMORY.
    /// - BUSY: also while the model's trainer is in a call.
    ///
    /// One thread per model at a time.
    pub fn troika_model_load(
        model: troika_model,
        path: *const c_char,
        options: *const troika_load_options,
        out_report: *mut troika_load_report,
        error: *mut troika_error,
    ) -> troika_status;

    /// Writes what [`troika_model_save`](crate::troika_model_save) writes to host memory. buffer
    /// holds capacity bytes. If `out_size` is not NULL, it receives the bytes needed. NULL with
    /// capacity 0 asks for them.
    ///
    /// Errors: INVALID_ARGUMENT (a capacity that is too small, with nothing written),
    /// NOT_INITIALIZED (names the parameter), OUT_OF_MEMORY, BUSY also while the model's trainer is
    /// in a call. Reads the model.
    pub fn troika_model_save_memory(
        model: troika_model,
        buffer: *mut c_void,
        capacity: i64,
        out_size: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;

    /// Reads parameters and buffers as [`troika_model_load`](crate::troika_model_load) does, from
    /// `size_bytes` bytes in host memory, which are those of a file. Errors: those of
    /// [`troika_model_load`](crate::troika_model_load) except NOT_FOUND and IO. One thread per
    /// model at a time.
    pub fn troika_model_load_memory(
        model: troika_model,
        data: *const c_void,
        size_bytes: i64,
        options: *const troika_load_options,
        out_report: *mut troika_load_report,
        error: *mut troika_error,
    ) -> troika_status;

    /// Runs the model in evaluation mode on device. input is \[batch, ...\], of the type of the
    /// model's input, on any device. The output is a new f32 tensor \[batch, the output's shape\]
    /// on device. A call with a batch size that the device has not seen compiles a plan first.
    ///
    /// Any number of threads may predict with one model at once. They share the weights on a
    /// device; each of them has plans and activations of its own, which are kept for later calls.
    /// At most 64 predictions run on a device at once, and predictions with several CPU threads
    /// only while `cpu_threads` of the context suffice; others wait. Predictions get BUSY only
    /// while a call that changes the model is in progress, and such a call gets BUSY while they
    /// run. The result has the same bits, however many threads predict.
    ///
    /// Owned: destroy \*`out_output`.
    ///
    /// Errors:
    ///
    /// - INVALID_ARGUMENT: shape or dtype, a token outside its range, a model with no output, kind
    ///   of device.
    /// - NOT_INITIALIZED: names the parameter.
    /// - DEVICE_UNAVAILABLE, OUT_OF_MEMORY.
    /// - UNSUPPORTED: an op that the device has no kernel for.
    /// - COMM: the computation did not end within 10 minutes.
    /// - BUSY: also while the model's trainer is in a call.
    ///
    /// Any thread; reads the model and input.
    pub fn troika_model_predict(
        model: troika_model,
        device: troika_device,
        input: troika_tensor,
        out_output: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Predicts as [`troika_model_predict`](crate::troika_model_predict) does, from and into host
    /// memory. inputs is \[n, the input's shape\], of the type of the model's input. output is f32
    /// \[n, the output's shape\], `size_bytes` long. If layer is not NULL, the output is that of
    /// the layer with this name, such as the features before a classifier; its shape is that of
    /// [`troika_model_describe_layer`](crate::troika_model_describe_layer). Layers that it does not
    /// need are not computed. After an error output may hold anything.
    ///
    /// Errors: those of [`troika_model_predict`](crate::troika_model_predict); NOT_FOUND (no such
    /// layer, which the input is not either; the message has the nearest name), INVALID_ARGUMENT
    /// also if `size_bytes` differs or n is below Any thread.
    pub fn troika_model_predict_into(
        model: troika_model,
        device: troika_device,
        inputs: *const c_void,
        n: i64,
        layer: *const c_char,
        output: *mut f32,
        size_bytes: i64,
        error: *mut troika_error,
    ) -> troika_status;
}
