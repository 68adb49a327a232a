/** @file model.h Models: the single-device module, a graph of named layers with parameters.
 *
 * Threads: calls that only read a model run side by side, on any threads: predictions,
 * descriptions, printing, reading a parameter, saving, cloning, planning. Their comments say "reads
 * the model". Any other call runs alone. A call that cannot run gets BUSY.
 *
 * Calls that read or write values of parameters also get BUSY while a trainer that holds newer
 * values is in a call. They get COMM if a step of that trainer missed its deadline and still runs.
 */
#ifndef TROIKA_MODEL_H
#define TROIKA_MODEL_H

#include <troika/layers.h>
#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/**
 * Options of `troika_model_create`. Begin with TROIKA_MODEL_OPTIONS_INIT. A field that is unset
 * takes the model's own default.
 */
typedef struct troika_model_options {
  uint32_t struct_size;   /**< sizeof(troika_model_options). */
  int32_t reserved;       /**< 0. */
  /** Outputs of the last layer. Default 10 (d2l_*, resnet9, mlp), 1000 (resnet18, 34 and 50) or 256
   *  (char_lstm: also the words of its embedding). */
  int64_t classes;
  int64_t input_channels; /**< Default 1 (d2l_*, resnet9, mlp) or 3 (resnet18, 34 and 50). */
  int64_t input_height;   /**< Default 28 (d2l_*, resnet9, mlp) or 224 (resnet18, 34 and 50). */
  int64_t input_width;    /**< Default: `input_height` if that is set, else as its default. */
  int64_t hidden;         /**< Units of the hidden layer; default 256 (mlp) or 128 (char_lstm). */
  int64_t steps;          /**< char_lstm: tokens of a sample, default 64. */
} troika_model_options;

/** Every field unset. */
#define TROIKA_MODEL_OPTIONS_INIT                                                                \
  {                                                                                              \
    sizeof(troika_model_options), 0, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET,     \
        TROIKA_UNSET, TROIKA_UNSET                                                               \
  }

/** Fills `options` as TROIKA_MODEL_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_model_options_init(troika_model_options *options, uint32_t struct_size);

/**
 * Builds a model of the zoo:
 * - `d2l_lenet`
 * - `d2l_resnet18`: 3x3 stem, no max-pool.
 * - `d2l_resnet18_stem7`: 7x7 stem and max-pool.
 * - `resnet9`: a small and fast one with residual blocks, of 16 to 128 channels, for small images
 *   (Page 2018, with a quarter of the channels).
 * - `resnet18`, `resnet34`, `resnet50`: torchvision's layers and parameter names.
 * - `mlp`
 * - `char_lstm`: a language model of characters. It has an embedding of 64 features, one LSTM and a
 *   linear layer per position.
 *
 * The input is [batch, channels, height, width], the output [batch, classes]. The input of
 * `char_lstm` is tokens i32 [batch, steps], and its output [batch, steps, classes]: after each
 * token, the logits of the next one. `options` may be NULL.
 *
 * Owned: destroy `*out_model` with `troika_model_destroy`. Errors: NOT_FOUND (the message lists the
 * names), INVALID_ARGUMENT (an option below 1, an option that this model does not have, an image
 * too small for its layers), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_model_create(troika_context context, const char *name,
                                              const troika_model_options *options,
                                              troika_model *out_model, troika_error *error);

/**
 * Creates a model with no layers, to be built layer by layer. `name` is UTF-8 of 1 to 200 bytes,
 * without control characters.
 *
 * Owned: destroy `*out_model` with `troika_model_destroy`. Errors: INVALID_ARGUMENT (the name),
 * OUT_OF_MEMORY. Any thread.
 *
 *     troika_model_create_empty(context, "net", &model, &error);
 *     const int64_t image[] = {1, 28, 28};                                   // [batch, 1, 28, 28]
 *     troika_model_add_input(model, "x", image, 3, &x, &error);
 *     troika_model_add_flatten(model, "flatten", x, &x, &error);             // [batch, 784]
 *     troika_model_add_linear(model, "fc", x, 10, 1, &x, &error);            // [batch, 10]
 *     troika_model_set_output(model, x, &error);
 */
TROIKA_API(troika_status) troika_model_create_empty(troika_context context, const char *name,
                                                    troika_model *out_model, troika_error *error);

/**
 * Reads a model from a file of `troika_model_save`, `troika_trainer_save` or
 * `troika_trainer_save_average`: its layers and its weights.
 *
 * Owned: destroy `*out_model` with `troika_model_destroy`. Errors:
 * - NOT_FOUND (no such file), IO.
 * - CORRUPT: its format, the checksum of its data, or layers that cannot be.
 * - MISMATCH: a file with weights alone, such as one of PyTorch; layers and weights that differ.
 * - UNSUPPORTED: a kind of layer, or a setting, that this library does not have; more than 16 MiB
 *   of layers, or too many nodes for little text (docs/files.md).
 * - OUT_OF_MEMORY.
 *
 * Any thread.
 */
TROIKA_API(troika_status) troika_model_open(troika_context context, const char *path,
                                            troika_model *out_model, troika_error *error);

/**
 * Reads a model as `troika_model_open` does, from `size_bytes` bytes in host memory, which are
 * those of a file.
 *
 * Owned: destroy `*out_model`. Errors: those of `troika_model_open` except NOT_FOUND and IO. Any
 * thread.
 */
TROIKA_API(troika_status) troika_model_open_memory(troika_context context, const void *data,
                                                   int64_t size_bytes, troika_model *out_model,
                                                   troika_error *error);

/**
 * Returns another model with the same layers that shares the values of parameters: what one of them
 * learns or loads, the other has. Each takes calls of its own, so that a call on one gets no BUSY
 * because of the other, except while a trainer computes. So a host can load newer values into a
 * clone while other threads predict: each prediction has all old values or all new ones. Both share
 * the weights on devices. If one is attached, an earlier trainer of the other is detached.
 *
 * Owned: destroy `*out_clone` with `troika_model_destroy`. Errors: INVALID_ARGUMENT (a model that
 * is not complete), OUT_OF_MEMORY, BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_clone(troika_model model, troika_model *out_clone,
                                             troika_error *error);

/**
 * Gives up the caller's hold on a model; a trainer of the model keeps it alive. NULL is ignored.
 * Never fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_model_destroy(troika_model model);

/** @name Parameters
 * Errors of all of them: BUSY. Those that change values: one thread per model at a time.
 * @{ */

/**
 * Kinds of initialiser. Fans are PyTorch's: for a shape [o, i, k...], fan_in = i * product of k,
 * and fan_out = o * product of k. Initialisers that use them need rank 2 or above.
 */
enum {
  TROIKA_INIT_CONSTANT = 1,         /**< `a` everywhere. */
  TROIKA_INIT_NORMAL = 2,           /**< Mean 0, standard deviation `a`. */
  TROIKA_INIT_UNIFORM = 3,          /**< Between -a and a. */
  TROIKA_INIT_KAIMING_NORMAL = 4,   /**< Normal, std sqrt(2 / fan_in) (He et al. 2015). */
  TROIKA_INIT_KAIMING_UNIFORM = 5,  /**< Uniform, bound sqrt(6 / fan_in). */
  /** Normal, std sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010). */
  TROIKA_INIT_XAVIER_NORMAL = 6,
  TROIKA_INIT_XAVIER_UNIFORM = 7    /**< Uniform, bound sqrt(6 / (fan_in + fan_out)). */
};

/**
 * Initialises every parameter whose name matches `pattern` (`*` any run of characters, `?` any one;
 * NULL: all). Initialisers that use fans leave out parameters with one axis, such as biases, and
 * those of norms; those of them without a value take the model's default. The values depend only on
 * `seed` and the parameter's name: they are the same on any machine and for any number of devices.
 * Buffers are not matched. Those without a value start: 1 for running_var, 0 for the others.
 *
 * Errors: NOT_FOUND if nothing matches, INVALID_ARGUMENT (the initialiser, `a`, fans if all that
 * match have one axis), OUT_OF_MEMORY, BUSY.
 */
TROIKA_API(troika_status) troika_model_initialize(troika_model model, const char *pattern,
                                                  int32_t initializer, double a, uint64_t seed,
                                                  troika_error *error);

/**
 * Initialises the parameters `parameter` of the layers of some kinds: those of
 * `troika_model_describe_layer`, separated by commas. "linear,conv2d" and "weight" are the weights
 * of all linear layers and convolutions, and not those of BatchNorm. `parameter` may be a pattern.
 * Values as those of `troika_model_initialize`.
 *
 * Errors: those of `troika_model_initialize`; NOT_FOUND also for a kind that no layer has.
 */
TROIKA_API(troika_status) troika_model_initialize_layers(troika_model model, const char *kinds,
                                                         const char *parameter,
                                                         int32_t initializer, double a,
                                                         uint64_t seed, troika_error *error);

/**
 * Initialises every parameter and buffer by the model's default, which is PyTorch's for each layer:
 * - convolution and linear: weights and biases uniform within 1/sqrt(fan_in).
 * - LSTM and GRU: weights and biases uniform within 1/sqrt(hidden).
 * - embedding: weight normal with standard deviation 1.
 * - norms: weight 1, bias 0; BatchNorm also running_mean 0, running_var 1, num_batches_tracked 0.
 *
 * The default of d2l_lenet and d2l_resnet18* is the tutorial's for convolution and linear: weights
 * normal with standard deviation 0.01, biases 0. `troika_model_attach` does this with the context's
 * seed for parameters that have no value yet.
 *
 * Errors: OUT_OF_MEMORY, BUSY.
 */
TROIKA_API(troika_status) troika_model_initialize_default(troika_model model, uint64_t seed,
                                                          troika_error *error);

/** Description of a parameter or buffer. Filled by `troika_model_describe_parameter`. */
typedef struct troika_parameter_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_parameter_info). */
  /** TROIKA_DTYPE_F32, or TROIKA_DTYPE_I64 for num_batches_tracked. */
  int32_t dtype;
  int32_t rank;                  /**< Number of dimensions. */
  int32_t is_buffer;             /**< 1: a buffer that no optimizer updates (running statistics). */
  int32_t is_initialized;        /**< 1: it has a value. */
  int32_t reserved;              /**< 0. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Sizes; 0 beyond `rank`. */
  char name[256];                /**< "conv1.weight". */
} troika_parameter_info;

/** All zero except `struct_size`. */
#define TROIKA_PARAMETER_INFO_INIT \
  { sizeof(troika_parameter_info), 0, 0, 0, 0, 0, {0}, {0} }

/** Fills `info` as TROIKA_PARAMETER_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_parameter_info_init(troika_parameter_info *info, uint32_t struct_size);

/**
 * Returns the number of parameters and buffers together in `*out_entries`, and the number of
 * elements of all parameters in `*out_elements`. Either pointer may be NULL.
 *
 * Errors: BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_count_parameters(troika_model model, int32_t *out_entries,
                                                        int64_t *out_elements, troika_error *error);

/**
 * Describes parameter or buffer `index` (0 .. entries - 1, in the order of creation). Errors:
 * NOT_FOUND (no such index), BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_describe_parameter(troika_model model, int32_t index,
                                                          troika_parameter_info *out_info,
                                                          troika_error *error);

/**
 * Returns the index of the parameter or buffer with that name in `*out_index`, for
 * `troika_model_describe_parameter`. Errors: NOT_FOUND (no such name; the message names the
 * nearest), BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_find_parameter(troika_model model, const char *name,
                                                      int32_t *out_index, troika_error *error);

/**
 * Copies a parameter or buffer, row-major, into `data` in host memory, `size_bytes` long: f32, or
 * i64 for num_batches_tracked.
 *
 * Errors: NOT_FOUND (no such name), NOT_INITIALIZED (names the parameter), INVALID_ARGUMENT if the
 * size differs, OUT_OF_MEMORY, BUSY also while the model's trainer is in a call. Reads the model.
 */
TROIKA_API(troika_status) troika_model_get_parameter(troika_model model, const char *name,
                                                     void *data, int64_t size_bytes,
                                                     troika_error *error);

/**
 * Copies `data`, row-major in host memory, `size_bytes` long, into a parameter or buffer. A trainer
 * of the model takes the value before its next step.
 *
 * Errors: NOT_FOUND (no such name), INVALID_ARGUMENT if the size differs, OUT_OF_MEMORY, BUSY also
 * while the model's trainer is in a call.
 */
TROIKA_API(troika_status) troika_model_set_parameter(troika_model model, const char *name,
                                                     const void *data, int64_t size_bytes,
                                                     troika_error *error);

/**
 * Writes the model as a tree, as PyTorch's repr does, with the output shape, the number of
 * parameters and the operations of one sample for each layer. The buffer holds `capacity` bytes and
 * is always NUL-terminated. If `out_size` is not NULL, it receives the bytes needed, including the
 * NUL. A buffer that is too small, or NULL with capacity 0, is no error.
 *
 * Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_print(troika_model model, char *buffer, int64_t capacity,
                                             int64_t *out_size, troika_error *error);

/** @} */

/** Report on loading. Filled by `troika_model_load`. */
typedef struct troika_load_report {
  uint32_t struct_size; /**< Set by the caller to sizeof(troika_load_report). */
  int32_t loaded;       /**< Parameters and buffers that took a value. */
  int32_t missing;      /**< In the model, not in the file; num_batches_tracked is never missing. */
  int32_t unexpected;   /**< In the file, not in the model. */
  int32_t mismatching;  /**< In both, with another shape or dtype. */
  int32_t kept;         /**< In the model, and not loaded because of `skip`. */
  /** The first missing, unexpected and mismatching names, in whole lines, one line per name:
   *  "missing fc.bias", "unexpected x", "mismatching x: file F32 [9], model F32 [5]". If not all
   *  fit, the last line is "... and N more". */
  char names[4096];
} troika_load_report;

/** All zero except `struct_size`. */
#define TROIKA_LOAD_REPORT_INIT \
  { sizeof(troika_load_report), 0, 0, 0, 0, 0, {0} }

/** Fills `report` as TROIKA_LOAD_REPORT_INIT does. Any thread. */
TROIKA_API(void) troika_load_report_init(troika_load_report *report, uint32_t struct_size);

/** Options of `troika_model_load`. Begin with TROIKA_LOAD_OPTIONS_INIT. */
typedef struct troika_load_options {
  uint32_t struct_size;      /**< sizeof(troika_load_options). */
  /** 0 (default): names that differ are MISMATCH. 1: loads the names that are in both. */
  int32_t allow_partial;
  /** Removed from the beginning of every name in the file, such as "module."; NULL: none. */
  const char *strip_prefix;
  /** 0 (default): shapes or dtypes that differ are MISMATCH. 1: such parameters keep their values,
   *  and the report names them: for a last layer of another number of classes. */
  int32_t skip_mismatching;
  int32_t reserved;          /**< 0. */
  /** Patterns of names in the model, separated by commas, such as "fc.*": parameters and buffers
   *  that keep their values, whatever the file has. NULL: none. */
  const char *skip;
  /** The model's names for those of the file, after `strip_prefix`: rules "name in file=name in
   *  model", separated by commas. The first rule that fits a whole name applies; `*` is any run of
   *  characters, the same on both sides: "encoder.*=backbone.*". Also the name of a table: "d2l"
   *  for the ResNet-18 of Dive into Deep Learning, "torchvision" for torchvision's models, also
   *  within a module. NULL: the file has the model's names. */
  const char *name_map;
} troika_load_options;

/** Strict, no prefix. */
#define TROIKA_LOAD_OPTIONS_INIT \
  { sizeof(troika_load_options), 0, NULL, 0, 0, NULL, NULL }

/** Fills `options` as TROIKA_LOAD_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_load_options_init(troika_load_options *options, uint32_t struct_size);

/**
 * Writes the model to one safetensors file: every parameter and buffer under PyTorch's names, and
 * the layers as text in the file's metadata. PyTorch reads the weights of such a file;
 * `troika_model_open` reads all of it, up to 16 MiB of layers. Atomic: whatever happens, the file
 * at `path` is either the complete old one or the complete new one.
 *
 * Errors: NOT_INITIALIZED (names the parameter), IO, OUT_OF_MEMORY, BUSY also while the model's
 * trainer is in a call. Reads the model.
 */
TROIKA_API(troika_status) troika_model_save(troika_model model, const char *path,
                                            troika_error *error);

/**
 * Reads parameters and buffers from a safetensors file; layers in it are ignored. Checks the whole
 * file first: a refused file changes nothing. The file may also be a training state of
 * `troika_trainer_save`; its optimizer state is ignored. `options` and `out_report` may be NULL;
 * the report is filled for MISMATCH too, except for that of a map.
 *
 * Errors:
 * - NOT_FOUND (no such file), IO.
 * - CORRUPT: its format, or the checksum of its data.
 * - MISMATCH: names, shapes or dtypes; two names that the map makes one; a rule of the map that
 *   fits no name; also if nothing at all can be loaded.
 * - INVALID_ARGUMENT (an option; a pattern of `skip` that matches nothing), OUT_OF_MEMORY.
 * - BUSY: also while the model's trainer is in a call.
 *
 * One thread per model at a time.
 */
TROIKA_API(troika_status) troika_model_load(troika_model model, const char *path,
                                            const troika_load_options *options,
                                            troika_load_report *out_report, troika_error *error);

/**
 * Writes what `troika_model_save` writes to host memory. `buffer` holds `capacity` bytes. If
 * `out_size` is not NULL, it receives the bytes needed. NULL with capacity 0 asks for them.
 *
 * Errors: INVALID_ARGUMENT (a capacity that is too small, with nothing written), NOT_INITIALIZED
 * (names the parameter), OUT_OF_MEMORY, BUSY also while the model's trainer is in a call. Reads
 * the model.
 */
TROIKA_API(troika_status) troika_model_save_memory(troika_model model, void *buffer,
                                                   int64_t capacity, int64_t *out_size,
                                                   troika_error *error);

/**
 * Reads parameters and buffers as `troika_model_load` does, from `size_bytes` bytes in host memory,
 * which are those of a file.
 *
 * Errors: those of `troika_model_load` except NOT_FOUND and IO. One thread per model at a time.
 */
TROIKA_API(troika_status) troika_model_load_memory(troika_model model, const void *data,
                                                   int64_t size_bytes,
                                                   const troika_load_options *options,
                                                   troika_load_report *out_report,
                                                   troika_error *error);

/**
 * Runs the model in evaluation mode on `device`. `input` is [batch, ...], of the type of the
 * model's input, on any device. The output is a new f32 tensor [batch, the output's shape] on
 * `device`. A call with a batch size that the device has not seen compiles a plan first.
 *
 * Any number of threads may predict with one model at once. They share the weights on a device;
 * each of them has plans and activations of its own, which are kept for later calls. At most 64
 * predictions run on a device at once, and predictions with several CPU threads only while
 * `cpu_threads` of the context suffice; others wait. Predictions get BUSY only while a call that
 * changes the model is in progress, and such a call gets BUSY while they run. The result has the
 * same bits, however many threads predict.
 *
 * Owned: destroy `*out_output`.
 *
 * Errors:
 * - INVALID_ARGUMENT: shape or dtype, a token outside its range, a model with no output, kind of
 *   device.
 * - NOT_INITIALIZED: names the parameter.
 * - DEVICE_UNAVAILABLE, OUT_OF_MEMORY.
 * - UNSUPPORTED: an op that the device has no kernel for.
 * - COMM: the computation did not end within 10 minutes.
 * - BUSY: also while the model's trainer is in a call.
 *
 * Any thread; reads the model and `input`.
 */
TROIKA_API(troika_status) troika_model_predict(troika_model model, troika_device device,
                                               troika_tensor input, troika_tensor *out_output,
                                               troika_error *error);

/**
 * Predicts as `troika_model_predict` does, from and into host memory. `inputs` is [n, the input's
 * shape], of the type of the model's input. `output` is f32 [n, the output's shape], `size_bytes`
 * long. If `layer` is not NULL, the output is that of the layer with this name, such as the
 * features before a classifier; its shape is that of `troika_model_describe_layer`. Layers that it
 * does not need are not computed. After an error `output` may hold anything.
 *
 * Errors: those of `troika_model_predict`; NOT_FOUND (no such layer, which the input is not either;
 * the message has the nearest name), INVALID_ARGUMENT also if `size_bytes` differs or `n` is below
 * 1. Any thread.
 */
TROIKA_API(troika_status) troika_model_predict_into(troika_model model, troika_device device,
                                                    const void *inputs, int64_t n,
                                                    const char *layer, float *output,
                                                    int64_t size_bytes, troika_error *error);

TROIKA_END_DECLS

#endif
