// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Initialises every parameter whose name matches pattern (* any run of
        /// characters, ? any one; NULL: all). Initialisers that use fans leave out parameters with
        /// one axis, such as biases, and those of norms; those of them without a value take the
        /// model's default. The values depend only on seed and the parameter's name: they are the
        /// same on any machine and for any number of devices. Buffers are not matched. Those
        /// without a value start: 1 for running_var, 0 for the others.</summary>
        /// <remarks>
        /// <para>Errors: NOT_FOUND if nothing matches, INVALID_ARGUMENT (the initialiser, a, fans
        /// if all that match have one axis), OUT_OF_MEMORY, BUSY.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_initialize(
            ModelHandle model, byte[] pattern, int initializer, double a, ulong seed,
            out troika_error error);

        /// <summary>Initialises the parameters parameter of the layers of some kinds: those of
        /// troika_model_describe_layer, separated by commas. "linear,conv2d" and "weight" are the
        /// weights of all linear layers and convolutions, and not those of BatchNorm. parameter may
        /// be a pattern. Values as those of troika_model_initialize.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_model_initialize; NOT_FOUND also for a kind that no layer
        /// has.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_initialize_layers(
            ModelHandle model, byte[] kinds, byte[] parameter, int initializer, double a,
            ulong seed, out troika_error error);

        /// <summary>Initialises every parameter and buffer by the model's default, which is
        /// PyTorch's for each layer:</summary>
        /// <remarks>
        /// <para>- convolution and linear: weights and biases uniform within 1/sqrt(fan_in).</para>
        /// <para>- LSTM and GRU: weights and biases uniform within 1/sqrt(hidden).</para>
        /// <para>- embedding: weight normal with standard deviation 1.</para>
        /// <para>- norms: weight 1, bias 0; BatchNorm also running_mean 0, running_var 1,
        /// num_batches_tracked 0.</para>
        /// <para>The default of d2l_lenet and d2l_resnet18* is the tutorial's for convolution and
        /// linear: weights normal with standard deviation 0.01, biases 0. troika_model_attach does
        /// this with the context's seed for parameters that have no value yet.</para>
        /// <para>Errors: OUT_OF_MEMORY, BUSY.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_initialize_default(
            ModelHandle model, ulong seed, out troika_error error);

        /// <summary>Fills info as TROIKA_PARAMETER_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_parameter_info_init(
            troika_parameter_info* info, uint struct_size);

        /// <summary>Returns the number of parameters and buffers together in *out_entries, and the
        /// number of elements of all parameters in *out_elements. Either pointer may be
        /// NULL.</summary>
        /// <remarks>
        /// <para>Errors: BUSY. Reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_count_parameters(
            ModelHandle model, out int out_entries, out long out_elements, out troika_error error);

        /// <summary>Describes parameter or buffer index (0 . . entries - 1, in the order of
        /// creation). Errors: NOT_FOUND (no such index), BUSY. Reads the model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_describe_parameter(
            ModelHandle model, int index, troika_parameter_info* out_info, out troika_error error);

        /// <summary>Returns the index of the parameter or buffer with that name in *out_index, for
        /// troika_model_describe_parameter. Errors: NOT_FOUND (no such name; the message names the
        /// nearest), BUSY. Reads the model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_find_parameter(
            ModelHandle model, byte[] name, out int out_index, out troika_error error);

        /// <summary>Copies a parameter or buffer, row-major, into data in host memory, size_bytes
        /// long: f32, or i64 for num_batches_tracked. Errors: NOT_FOUND (no such name),
        /// NOT_INITIALIZED (names the parameter), INVALID_ARGUMENT if the size differs,
        /// OUT_OF_MEMORY, BUSY also while the model's trainer is in a call. Reads the
        /// model.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_get_parameter(
            ModelHandle model, byte[] name, void* data, long size_bytes, out troika_error error);

        /// <summary>Copies data, row-major in host memory, size_bytes long, into a parameter or
        /// buffer. A trainer of the model takes the value before its next step.</summary>
        /// <remarks>
        /// <para>Errors: NOT_FOUND (no such name), INVALID_ARGUMENT if the size differs,
        /// OUT_OF_MEMORY, BUSY also while the model's trainer is in a call.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_set_parameter(
            ModelHandle model, byte[] name, void* data, long size_bytes, out troika_error error);

        /// <summary>Writes the model as a tree, as PyTorch's repr does, with the output shape, the
        /// number of parameters and the operations of one sample for each layer. The buffer holds
        /// capacity bytes and is always NUL-terminated. If out_size is not NULL, it receives the
        /// bytes needed, including the NUL. A buffer that is too small, or NULL with capacity 0, is
        /// no error.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. Reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_print(
            ModelHandle model, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Fills options as TROIKA_MODEL_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_model_options_init(
            troika_model_options* options, uint struct_size);

        /// <summary>Builds a model of the zoo:</summary>
        /// <remarks>
        /// <para>- d2l_lenet</para>
        /// <para>- d2l_resnet18: 3x3 stem, no max-pool.</para>
        /// <para>- d2l_resnet18_stem7: 7x7 stem and max-pool.</para>
        /// <para>- resnet9: a small and fast one with residual blocks, of 16 to 128 channels, for
        /// small images (Page 2018, with a quarter of the channels).</para>
        /// <para>- resnet18, resnet34, resnet50: torchvision's layers and parameter names.</para>
        /// <para>- mlp</para>
        /// <para>- char_lstm: a language model of characters. It has an embedding of 64 features,
        /// one LSTM and a linear layer per position.</para>
        /// <para>The input is [batch, channels, height, width], the output [batch, classes]. The
        /// input of char_lstm is tokens i32 [batch, steps], and its output [batch, steps, classes]:
        /// after each token, the logits of the next one. options may be NULL.</para>
        /// <para>Owned: destroy *out_model with troika_model_destroy. Errors: NOT_FOUND (the
        /// message lists the names), INVALID_ARGUMENT (an option below 1, an option that this model
        /// does not have, an image too small for its layers), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_create(
            ContextHandle context, byte[] name, troika_model_options* options,
            out ModelHandle out_model, out troika_error error);

        /// <summary>Creates a model with no layers, to be built layer by layer. name is UTF-8 of 1
        /// to 200 bytes, without control characters.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_model with troika_model_destroy. Errors: INVALID_ARGUMENT (the
        /// name), OUT_OF_MEMORY. Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_create_empty(
            ContextHandle context, byte[] name, out ModelHandle out_model, out troika_error error);

        /// <summary>Reads a model from a file of troika_model_save, troika_trainer_save or
        /// troika_trainer_save_average: its layers and its weights. Owned: destroy *out_model with
        /// troika_model_destroy. Errors:</summary>
        /// <remarks>
        /// <para>- NOT_FOUND (no such file), IO.</para>
        /// <para>- CORRUPT: its format, the checksum of its data, or layers that cannot be.</para>
        /// <para>- MISMATCH: a file with weights alone, such as one of PyTorch; layers and weights
        /// that differ.</para>
        /// <para>- UNSUPPORTED: a kind of layer, or a setting, that this library does not have;
        /// more than 16 MiB of layers, or too many nodes for little text (docs/files.md).</para>
        /// <para>- OUT_OF_MEMORY.</para>
        /// <para>Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_open(
            ContextHandle context, byte[] path, out ModelHandle out_model, out troika_error error);

        /// <summary>Reads a model as troika_model_open does, from size_bytes bytes in host memory,
        /// which are those of a file. Owned: destroy *out_model. Errors: those of troika_model_open
        /// except NOT_FOUND and IO. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_open_memory(
            ContextHandle context, void* data, long size_bytes, out ModelHandle out_model,
            out troika_error error);

        /// <summary>Returns another model with the same layers that shares the values of
        /// parameters: what one of them learns or loads, the other has. Each takes calls of its
        /// own, so that a call on one gets no BUSY because of the other, except while a trainer
        /// computes. So a host can load newer values into a clone while other threads predict: each
        /// prediction has all old values or all new ones. Both share the weights on devices. If one
        /// is attached, an earlier trainer of the other is detached.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_clone with troika_model_destroy. Errors: INVALID_ARGUMENT (a
        /// model that is not complete), OUT_OF_MEMORY, BUSY. Reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_clone(
            ModelHandle model, out ModelHandle out_clone, out troika_error error);

        /// <summary>Gives up the caller's hold on a model; a trainer of the model keeps it alive.
        /// NULL is ignored. Never fails. Any thread, but not while another is inside a call with
        /// the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_model_destroy(IntPtr model);

        /// <summary>Fills report as TROIKA_LOAD_REPORT_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_load_report_init(
            troika_load_report* report, uint struct_size);

        /// <summary>Fills options as TROIKA_LOAD_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_load_options_init(
            troika_load_options* options, uint struct_size);

        /// <summary>Writes the model to one safetensors file: every parameter and buffer under
        /// PyTorch's names, and the layers as text in the file's metadata. PyTorch reads the
        /// weights of such a file; troika_model_open reads all of it, up to 16 MiB of layers.
        /// Atomic: whatever happens, the file at path is either the complete old one or the
        /// complete new one.</summary>
        /// <remarks>
        /// <para>Errors: NOT_INITIALIZED (names the parameter), IO, OUT_OF_MEMORY, BUSY also while
        /// the model's trainer is in a call. Reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_save(
            ModelHandle model, byte[] path, out troika_error error);

        /// <summary>Reads parameters and buffers from a safetensors file; layers in it are ignored.
        /// Checks the whole file first: a refused file changes nothing. The file may also be a
        /// training state of troika_trainer_save; its optimizer state is ignored. options and
        /// out_report may be NULL; the report is filled for MISMATCH too, except for that of a
        /// map.</summary>
        /// <remarks>
        /// <para>Errors:</para>
        /// <para>- NOT_FOUND (no such file), IO.</para>
        /// <para>- CORRUPT: its format, or the checksum of its data.</para>
        /// <para>- MISMATCH: names, shapes or dtypes; two names that the map makes one; a rule of
        /// the map that fits no name; also if nothing at all can be loaded.</para>
        /// <para>- INVALID_ARGUMENT (an option; a pattern of skip that matches nothing),
        /// OUT_OF_MEMORY.</para>
        /// <para>- BUSY: also while the model's trainer is in a call.</para>
        /// <para>One thread per model at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_load(
            ModelHandle model, byte[] path, troika_load_options* options,
            troika_load_report* out_report, out troika_error error);

        /// <summary>Writes what troika_model_save writes to host memory. buffer holds capacity
        /// bytes. If out_size is not NULL, it receives the bytes needed. NULL with capacity 0 asks
        /// for them.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a capacity that is too small, with nothing written),
        /// NOT_INITIALIZED (names the parameter), OUT_OF_MEMORY, BUSY also while the model's
        /// trainer is in a call. Reads the model.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_save_memory(
            ModelHandle model, void* buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Reads parameters and buffers as troika_model_load does, from size_bytes bytes
        /// in host memory, which are those of a file. Errors: those of troika_model_load except
        /// NOT_FOUND and IO. One thread per model at a time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_load_memory(
            ModelHandle model, void* data, long size_bytes, troika_load_options* options,
            troika_load_report* out_report, out troika_error error);

        /// <summary>Runs the model in evaluation mode on device. input is [batch, ...], of the type
        /// of the model's input, on any device. The output is a new f32 tensor [batch, the output's
        /// shape] on device. A call with a batch size that the device has not seen compiles a plan
        /// first.</summary>
        /// <remarks>
        /// <para>Any number of threads may predict with one model at once. They share the weights
        /// on a device; each of them has plans and activations of its own, which are kept for later
        /// calls. At most 64 predictions run on a device at once, and predictions with several CPU
        /// threads only while cpu_threads of the context suffice; others wait. Predictions get BUSY
        /// only while a call that changes the model is in progress, and such a call gets BUSY while
        /// they run. The result has the same bits, however many threads predict.</para>
        /// <para>Owned: destroy *out_output.</para>
        /// <para>Errors:</para>
        /// <para>- INVALID_ARGUMENT: shape or dtype, a token outside its range, a model with no
        /// output, kind of device.</para>
        /// <para>- NOT_INITIALIZED: names the parameter.</para>
        /// <para>- DEVICE_UNAVAILABLE, OUT_OF_MEMORY.</para>
        /// <para>- UNSUPPORTED: an op that the device has no kernel for.</para>
        /// <para>- COMM: the computation did not end within 10 minutes.</para>
        /// <para>- BUSY: also while the model's trainer is in a call.</para>
        /// <para>Any thread; reads the model and input.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_predict(
            ModelHandle model, Device device, TensorHandle input, out TensorHandle out_output,
            out troika_error error);

        /// <summary>Predicts as troika_model_predict does, from and into host memory. inputs is [n,
        /// the input's shape], of the type of the model's input. output is f32 [n, the output's
        /// shape], size_bytes long. If layer is not NULL, the output is that of the layer with this
        /// name, such as the features before a classifier; its shape is that of
        /// troika_model_describe_layer. Layers that it does not need are not computed. After an
        /// error output may hold anything.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_model_predict; NOT_FOUND (no such layer, which the input
        /// is not either; the message has the nearest name), INVALID_ARGUMENT also if size_bytes
        /// differs or n is below Any thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_predict_into(
            ModelHandle model, Device device, void* inputs, long n, byte[] layer, float* output,
            long size_bytes, out troika_error error);
    }
}
