/* Models: the single-device module, a graph of named layers with parameters. */
#ifndef TROIKA_MODEL_H
#define TROIKA_MODEL_H

#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/** A network of named layers. Counted; models and the trainers they are attached to share parameters. */
typedef struct troika_model_s *troika_model;

/** The output of a layer inside one model: an index, valid for that model alone. */
typedef int32_t troika_value;

/** Options of `troika_model_create`. Begin with TROIKA_MODEL_OPTIONS_INIT. Unset: the model's own default. */
typedef struct troika_model_options {
  uint32_t struct_size;    /**< sizeof(troika_model_options). */
  int32_t classes;         /**< Outputs of the last layer. Default 10 (d2l_*, mlp) or 1000 (resnet*). */
  int32_t input_channels;  /**< Default 1 (d2l_*, mlp) or 3 (resnet*). */
  int32_t input_height;    /**< Default 28 (d2l_*, mlp) or 224 (resnet*). */
  int32_t input_width;     /**< As input_height. */
  int32_t hidden;          /**< mlp: units of the hidden layer, default 256. */
} troika_model_options;

#define TROIKA_MODEL_OPTIONS_INIT \
  { sizeof(troika_model_options), TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET }

/** Fills `options` as TROIKA_MODEL_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_model_options_init(troika_model_options *options);

/**
 * Builds a model of the zoo: `d2l_lenet`, `d2l_resnet18` (3x3 stem, no max-pool), `d2l_resnet18_stem7` (7x7 stem and
 * max-pool), `resnet18`, `resnet34`, `resnet50` (torchvision's layers and parameter names), `mlp`. `options` may be NULL.
 * Input is [batch, channels, height, width], output [batch, classes].
 *
 * Owned: destroy with `troika_model_destroy`. Errors: NOT_FOUND (the message lists the names), INVALID_ARGUMENT.
 * Any thread.
 */
TROIKA_API troika_status troika_model_create(troika_context context, const char *name,
                                             const troika_model_options *options, troika_model *out_model,
                                             troika_error *error);

/**
 * Creates a model with no layers, to be built layer by layer.
 *
 * Owned: destroy with `troika_model_destroy`. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. Any thread.
 *
 *     troika_model_create_empty(context, "net", &model, &error);
 *     const int64_t image[] = {1, 28, 28};                                     -- [batch, 1, 28, 28]
 *     troika_model_add_input(model, "x", image, 3, &x, &error);
 *     troika_model_add_flatten(model, "flatten", x, &x, &error);               -- [batch, 784]
 *     troika_model_add_linear(model, "fc", x, 10, 1, &x, &error);              -- [batch, 10]
 *     troika_model_set_output(model, x, &error);
 */
TROIKA_API troika_status troika_model_create_empty(troika_context context, const char *name, troika_model *out_model,
                                                   troika_error *error);

/** Gives up the caller's hold on a model. NULL is ignored. Any thread. */
TROIKA_API void troika_model_destroy(troika_model model);

/* ---- layers -------------------------------------------------------------------------------------------------------
 * Each adds one layer and gives its output. Names are unique in a model, may contain dots ("layer1.0.conv1") and name
 * the parameters: "<layer>.weight", "<layer>.bias". Errors of all: INVALID_ARGUMENT (a name that is empty or taken, a
 * value that is not this model's, a shape that does not fit, a model that is complete). A refused call changes nothing.
 * One thread a model at a time; another gets BUSY. */

/** Adds the input: f32 [batch, dims...]. `dims` has `rank` sizes, the batch left out. One input a model. */
TROIKA_API troika_status troika_model_add_input(troika_model model, const char *name, const int64_t *dims,
                                                int32_t rank, troika_value *out_value, troika_error *error);

/** Options of a 2-d convolution. Begin with TROIKA_CONV2D_OPTIONS_INIT. Arrays are {height, width}. */
typedef struct troika_conv2d_options {
  uint32_t struct_size;    /**< sizeof(troika_conv2d_options). */
  int32_t out_channels;    /**< Must be set. */
  int32_t kernel[2];       /**< Must be set. */
  int32_t stride[2];       /**< Default 1. */
  int32_t padding[2];      /**< Zeros added on each side; default 0. */
  int32_t dilation[2];     /**< Default 1. */
  int32_t groups;          /**< Default 1; divides both channel counts. */
  int32_t bias;            /**< 1 with a bias (default), 0 without. */
} troika_conv2d_options;

#define TROIKA_CONV2D_OPTIONS_INIT \
  { sizeof(troika_conv2d_options), TROIKA_UNSET, {TROIKA_UNSET, TROIKA_UNSET}, {1, 1}, {0, 0}, {1, 1}, 1, 1 }

/** Fills `options` as TROIKA_CONV2D_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_conv2d_options_init(troika_conv2d_options *options);

/**
 * Adds a 2-d convolution (cross-correlation, as the field means it): [batch, C, H, W] to [batch, K, H', W'] with
 * H' = (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down.
 * Parameters: weight [K, C / groups, kernel_h, kernel_w], bias [K].
 */
TROIKA_API troika_status troika_model_add_conv2d(troika_model model, const char *name, troika_value input,
                                                 const troika_conv2d_options *options, troika_value *out_value,
                                                 troika_error *error);

/** Adds a linear layer: [batch, in] to [batch, out_features], y = x W^T + b. Parameters: weight [out, in], bias [out]. */
TROIKA_API troika_status troika_model_add_linear(troika_model model, const char *name, troika_value input,
                                                 int32_t out_features, int32_t bias, troika_value *out_value,
                                                 troika_error *error);

/**
 * Adds batch normalisation over [batch, H, W] of each channel (Ioffe and Szegedy 2015). Parameters: weight [C] and bias
 * [C]; buffers: running_mean [C], running_var [C] (unbiased), num_batches_tracked. running = (1 - momentum) running +
 * momentum batch. Defaults of PyTorch: eps 1e-5, momentum 0.1. Each device normalises its own shard.
 */
TROIKA_API troika_status troika_model_add_batch_norm2d(troika_model model, const char *name, troika_value input,
                                                       double eps, double momentum, troika_value *out_value,
                                                       troika_error *error);

/** Adds max(x, 0), element by element. Any shape. */
TROIKA_API troika_status troika_model_add_relu(troika_model model, const char *name, troika_value input,
                                               troika_value *out_value, troika_error *error);

/** Options of max and average pooling. Begin with TROIKA_POOL2D_OPTIONS_INIT. Arrays are {height, width}. */
typedef struct troika_pool2d_options {
  uint32_t struct_size;         /**< sizeof(troika_pool2d_options). */
  int32_t kernel[2];            /**< Must be set. */
  int32_t stride[2];            /**< Unset: the kernel. */
  int32_t padding[2];           /**< At most half the kernel; default 0. */
  int32_t count_include_pad;    /**< Average: 1 counts the padding (default, as PyTorch), 0 does not. */
} troika_pool2d_options;

#define TROIKA_POOL2D_OPTIONS_INIT                                                                                   \
  { sizeof(troika_pool2d_options), {TROIKA_UNSET, TROIKA_UNSET}, {TROIKA_UNSET, TROIKA_UNSET}, {0, 0}, 1 }

/** Fills `options` as TROIKA_POOL2D_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_pool2d_options_init(troika_pool2d_options *options);

/** Adds max pooling over windows: [batch, C, H, W] to [batch, C, H', W'], H' = (H + 2 padding - kernel) / stride + 1. */
TROIKA_API troika_status troika_model_add_max_pool2d(troika_model model, const char *name, troika_value input,
                                                     const troika_pool2d_options *options, troika_value *out_value,
                                                     troika_error *error);

/** Adds average pooling over windows; shapes as `troika_model_add_max_pool2d`. */
TROIKA_API troika_status troika_model_add_avg_pool2d(troika_model model, const char *name, troika_value input,
                                                     const troika_pool2d_options *options, troika_value *out_value,
                                                     troika_error *error);

/** Adds adaptive average pooling: [batch, C, H, W] to [batch, C, out_height, out_width], windows as PyTorch's. */
TROIKA_API troika_status troika_model_add_adaptive_avg_pool2d(troika_model model, const char *name, troika_value input,
                                                              int32_t out_height, int32_t out_width,
                                                              troika_value *out_value, troika_error *error);

/** Adds a flattening of all but the batch: [batch, a, b, ...] to [batch, a * b * ...]. */
TROIKA_API troika_status troika_model_add_flatten(troika_model model, const char *name, troika_value input,
                                                  troika_value *out_value, troika_error *error);

/** Adds the sum of two values of one shape (op `add`): the residual connection. */
TROIKA_API troika_status troika_model_add_sum(troika_model model, const char *name, troika_value a, troika_value b,
                                              troika_value *out_value, troika_error *error);

/**
 * Adds dropout: in training each element is zero with `probability` in [0, 1), else divided by 1 - probability; in
 * evaluation nothing changes. The mask is a function of (seed, step, layer, sample), so it does not depend on the number
 * of devices.
 */
TROIKA_API troika_status troika_model_add_dropout(troika_model model, const char *name, troika_value input,
                                                  double probability, troika_value *out_value, troika_error *error);

/** Completes the model: `value` is its output. No layer can be added afterwards. */
TROIKA_API troika_status troika_model_set_output(troika_model model, troika_value value, troika_error *error);

/* ---- parameters --------------------------------------------------------------------------------------------------- */

/**
 * Kinds of initialiser. Fans are PyTorch's, for a shape [o, i, k...]: fan_in = i * product of k, fan_out = o * product of
 * k. All that use them need rank 2 and above.
 */
enum {
  TROIKA_INIT_CONSTANT = 1,         /**< `a` everywhere. */
  TROIKA_INIT_NORMAL = 2,           /**< Mean 0, standard deviation `a`. */
  TROIKA_INIT_UNIFORM = 3,          /**< Between -a and a. */
  TROIKA_INIT_KAIMING_NORMAL = 4,   /**< Normal, std sqrt(2 / fan_in) (He et al. 2015); rank 2 and above. */
  TROIKA_INIT_KAIMING_UNIFORM = 5,  /**< Uniform, bound sqrt(6 / fan_in); rank 2 and above. */
  TROIKA_INIT_XAVIER_NORMAL = 6,    /**< Normal, std sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010). */
  TROIKA_INIT_XAVIER_UNIFORM = 7    /**< Uniform, bound sqrt(6 / (fan_in + fan_out)). */
};

/**
 * Gives values to every parameter whose name matches `pattern` (`*` any run of characters, `?` one; NULL: all), from
 * `seed` and the parameter's name alone: the same numbers on any machine and for any number of devices. Buffers are not
 * matched: running_mean starts at 0 and running_var at 1.
 *
 * Errors: NOT_FOUND where nothing matches, INVALID_ARGUMENT. One thread a model at a time.
 */
TROIKA_API troika_status troika_model_initialize(troika_model model, const char *pattern, int32_t initializer, double a,
                                                 uint64_t seed, troika_error *error);

/**
 * Gives values to every parameter and buffer by the model's default: PyTorch's for the layer (weights and biases uniform within
 * 1/sqrt(fan_in), BatchNorm 1 and 0); d2l_lenet and d2l_resnet18* as the tutorial's: weights normal(0.01), biases 0.
 * `troika_model_attach` does this with the context's seed for parameters that have no value yet.
 * Errors: INVALID_ARGUMENT. One thread a model at a time.
 */
TROIKA_API troika_status troika_model_initialize_default(troika_model model, uint64_t seed, troika_error *error);

/** What a parameter is. Filled by `troika_model_describe_parameter`. */
typedef struct troika_parameter_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_parameter_info). */
  int32_t dtype;                 /**< TROIKA_F32, or TROIKA_I64 for num_batches_tracked. */
  int32_t rank;                  /**< Number of dimensions. */
  int32_t is_buffer;             /**< 1: a buffer that no optimizer updates (running statistics). */
  int32_t is_initialized;        /**< 1 where it has a value. */
  int32_t reserved;              /**< 0. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Sizes; 0 beyond `rank`. */
  char name[256];                /**< "conv1.weight". */
} troika_parameter_info;

/** Gives the number of parameters and buffers, and of the elements of all parameters. Any out pointer may be NULL. */
TROIKA_API troika_status troika_model_count_parameters(troika_model model, int32_t *out_entries,
                                                       int64_t *out_elements, troika_error *error);

/** Describes entry `index` (0 .. entries - 1, in the order of creation). Errors: NOT_FOUND. One thread a model at a time. */
TROIKA_API troika_status troika_model_describe_parameter(troika_model model, int32_t index,
                                                         troika_parameter_info *out_info, troika_error *error);

/**
 * Copies a parameter or buffer, row-major, into `data` in host memory of `size_bytes`.
 * Errors: NOT_FOUND, NOT_INITIALIZED (names the parameter), INVALID_ARGUMENT where the size differs, BUSY while an
 * attached trainer is in a step.
 */
TROIKA_API troika_status troika_model_get_parameter(troika_model model, const char *name, void *data,
                                                    int64_t size_bytes, troika_error *error);

/** Copies `data` into a parameter or buffer; a trainer that holds the model takes the value before its next step. Errors as above. */
TROIKA_API troika_status troika_model_set_parameter(troika_model model, const char *name, const void *data,
                                                    int64_t size_bytes, troika_error *error);

/**
 * Writes the model as a tree, as PyTorch's repr does, with parameter counts, into a buffer of `capacity` bytes, always
 * NUL-terminated. `out_size` receives the bytes needed with the NUL; (NULL, 0) asks for the size alone.
 */
TROIKA_API troika_status troika_model_print(troika_model model, char *buffer, int64_t capacity, int64_t *out_size,
                                            troika_error *error);

/* ---- weights files ------------------------------------------------------------------------------------------------ */

/** What loading found. Filled by `troika_model_load`. */
typedef struct troika_load_report {
  uint32_t struct_size;    /**< Set by the caller to sizeof(troika_load_report). */
  int32_t loaded;          /**< Parameters and buffers that took a value. */
  int32_t missing;         /**< In the model, not in the file (num_batches_tracked is never missing). */
  int32_t unexpected;      /**< In the file, not in the model. */
  int32_t mismatching;     /**< In both, with another shape or dtype. */
  int32_t reserved;        /**< 0. */
  char names[4096];        /**< The first of them, whole lines, one a name: "missing fc.bias", "unexpected ...", "mismatching ...: file [10], model [5]". */
} troika_load_report;

/** Options of `troika_model_load`. Begin with TROIKA_LOAD_OPTIONS_INIT. */
typedef struct troika_load_options {
  uint32_t struct_size;      /**< sizeof(troika_load_options). */
  int32_t allow_partial;     /**< 0 (default): any difference of names is MISMATCH; 1: load what fits. Shapes must fit always. */
  const char *strip_prefix;  /**< Removed from the front of every name in the file, such as "module."; NULL: none. */
} troika_load_options;

#define TROIKA_LOAD_OPTIONS_INIT \
  { sizeof(troika_load_options), 0, NULL }

/** Fills `options` as TROIKA_LOAD_OPTIONS_INIT does. NULL is ignored. Any thread. */
TROIKA_API void troika_load_options_init(troika_load_options *options);

/**
 * Writes every parameter and buffer to a safetensors file under PyTorch's names. Atomic: the file at `path` is the old
 * one or the new one, whole, whatever happens.
 * Errors: NOT_INITIALIZED, IO. One thread a model at a time.
 */
TROIKA_API troika_status troika_model_save(troika_model model, const char *path, troika_error *error);

/**
 * Reads parameters and buffers from a safetensors file. Checks the whole file first: a refused file changes nothing.
 * `options` and `out_report` may be NULL; the report is filled for MISMATCH too.
 * Errors: NOT_FOUND and IO (the file), CORRUPT (its format), MISMATCH (names or shapes; nothing loaded at all counts).
 */
TROIKA_API troika_status troika_model_load(troika_model model, const char *path, const troika_load_options *options,
                                           troika_load_report *out_report, troika_error *error);

/**
 * Runs the model in evaluation mode on `device`: `input` f32 [batch, ...] to a new tensor there, [batch, the output's
 * shape].
 * The input may live on any device. Owned: destroy `*out_output`.
 * Errors: INVALID_ARGUMENT (shape), NOT_INITIALIZED, DEVICE_UNAVAILABLE, OUT_OF_MEMORY. One thread a model at a time.
 */
TROIKA_API troika_status troika_model_predict(troika_model model, troika_device device, troika_tensor input,
                                              troika_tensor *out_output, troika_error *error);

TROIKA_END_DECLS

#endif
