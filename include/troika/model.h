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

#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/**
 * A network of named layers. Counted. A model and the trainers that it is attached to share
 * parameters.
 */
typedef struct troika_model_s *troika_model;

/** The output of a layer. Other models refuse the value. 0 is no value. */
typedef int64_t troika_value;

/**
 * Options of `troika_model_create`. Begin with TROIKA_MODEL_OPTIONS_INIT. A field that is unset
 * takes the model's own default.
 */
typedef struct troika_model_options {
  uint32_t struct_size;   /**< sizeof(troika_model_options). */
  int32_t reserved;       /**< 0. */
  /** Outputs of the last layer. Default 10 (d2l_*, mlp), 1000 (resnet*) or 256 (char_lstm: also the
   *  words of its embedding). */
  int64_t classes;
  int64_t input_channels; /**< Default 1 (d2l_*, mlp) or 3 (resnet*). */
  int64_t input_height;   /**< Default 28 (d2l_*, mlp) or 224 (resnet*). */
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

/** @name Layers
 * Each function adds one layer and returns its output. The input is a layer, too. The name of a
 * layer is unique in its model, and is part of the names of its parameters: "<layer>.weight",
 * "<layer>.bias". Dots may separate parts of a name ("layer1.0.conv1"). A refused call changes
 * nothing.
 *
 * Errors of all of them:
 * - INVALID_ARGUMENT: a name that is taken, empty, longer than 200 bytes or not UTF-8; a name with
 *   a control character, a `/`, `*`, `?` or `,`, or an empty part before or after a dot.
 * - INVALID_ARGUMENT: a value that is not this model's, an input whose shape or type does not fit,
 *   a model that is complete.
 * - OUT_OF_MEMORY, BUSY.
 *
 * One thread per model at a time.
 * @{ */

/**
 * Adds the input: f32 [batch, dims...]. `dims` has `rank` sizes of at least 1, without the batch. A
 * model has one input.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for a second input.
 */
TROIKA_API(troika_status) troika_model_add_input(troika_model model, const char *name,
                                                 const int64_t *dims, int32_t rank,
                                                 troika_value *out_value, troika_error *error);

/**
 * Adds the input as `troika_model_add_input` does, of type `dtype`: TROIKA_DTYPE_F32, or
 * TROIKA_DTYPE_I32 for tokens. An embedding reads tokens; they are never rounded.
 *
 * Errors and threads: those of `troika_model_add_input`; INVALID_ARGUMENT for another `dtype`.
 */
TROIKA_API(troika_status) troika_model_add_typed_input(troika_model model, const char *name,
                                                       int32_t dtype, const int64_t *dims,
                                                       int32_t rank, troika_value *out_value,
                                                       troika_error *error);

/**
 * Adds an embedding: tokens i32 [batch, ...] to [batch, ..., features]. The output of a token is
 * its row of the weight. A batch with a token outside 0 to `words` - 1 is refused. The gradient of
 * a row is the sum over the row's tokens, in their order, so it has the same bits on any device.
 *
 * Parameters: weight [words, features]; its default initialisation is normal with standard
 * deviation 1, as in PyTorch.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT if the input is not i32, or if `words`
 * or `features` is below 1.
 */
TROIKA_API(troika_status) troika_model_add_embedding(troika_model model, const char *name,
                                                     troika_value input, int64_t words,
                                                     int64_t features, troika_value *out_value,
                                                     troika_error *error);

/**
 * Options of a 2-d convolution. Begin with TROIKA_CONV2D_OPTIONS_INIT. Arrays are {height, width}.
 */
typedef struct troika_conv2d_options {
  uint32_t struct_size;    /**< sizeof(troika_conv2d_options). */
  int32_t no_bias;         /**< 1: without a bias; 0 (default): with. */
  int64_t out_channels;    /**< Must be set. */
  int64_t kernel[2];       /**< Must be set. */
  int64_t stride[2];       /**< Default 1. */
  int64_t padding[2];      /**< Zeros added on each side; default 0. */
  int64_t dilation[2];     /**< Default 1. */
  int64_t groups;          /**< Default 1; divides both channel counts. */
} troika_conv2d_options;

/** `out_channels` and `kernel` unset, the other fields at their defaults. */
#define TROIKA_CONV2D_OPTIONS_INIT                                                               \
  {                                                                                              \
    sizeof(troika_conv2d_options), 0, TROIKA_UNSET, {TROIKA_UNSET, TROIKA_UNSET}, {1, 1},        \
        {0, 0}, {1, 1}, 1                                                                        \
  }

/** Fills `options` as TROIKA_CONV2D_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_conv2d_options_init(troika_conv2d_options *options, uint32_t struct_size);

/**
 * Adds a 2-d convolution, computed as a cross-correlation, as is usual for neural networks: [batch,
 * C, H, W] to [batch, K, H', W']. H' = (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1,
 * rounded down.
 *
 * Parameters: weight [K, C / groups, kernel_h, kernel_w], bias [K].
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT names the option, or the window that is
 * too large.
 */
TROIKA_API(troika_status) troika_model_add_conv2d(troika_model model, const char *name,
                                                  troika_value input,
                                                  const troika_conv2d_options *options,
                                                  troika_value *out_value, troika_error *error);

/**
 * Adds a linear layer: [batch, in] to [batch, out_features], y = x W^T + b. `bias` is 1 with a
 * bias, 0 without; TROIKA_UNSET is 1.
 *
 * Parameters: weight [out, in], bias [out].
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for `out_features` below 1 and for
 * another `bias`.
 */
TROIKA_API(troika_status) troika_model_add_linear(troika_model model, const char *name,
                                                  troika_value input, int64_t out_features,
                                                  int32_t bias, troika_value *out_value,
                                                  troika_error *error);

/**
 * Adds a linear layer that is applied to each step of a sequence: [batch, steps, in] to [batch,
 * steps, out_features].
 *
 * Parameters, errors and threads: those of `troika_model_add_linear`; INVALID_ARGUMENT for an input
 * that is not a sequence.
 */
TROIKA_API(troika_status) troika_model_add_linear_per_position(troika_model model, const char *name,
                                                               troika_value input,
                                                               int64_t out_features, int32_t bias,
                                                               troika_value *out_value,
                                                               troika_error *error);

/**
 * Adds batch normalisation of [batch, C, H, W], over [batch, H, W] of each channel (Ioffe and
 * Szegedy 2015). Each device normalises its own samples, unless a trainer's `sync_batch_norm` is 1.
 * PyTorch's defaults are eps 1e-5 and momentum 0.1.
 *
 * Parameters: weight [C] and bias [C]. Buffers: running_mean [C], running_var [C] (unbiased),
 * num_batches_tracked. A step sets running = (1 - momentum) running + momentum batch.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for `eps` not above 0 and for
 * `momentum` outside [0, 1].
 */
TROIKA_API(troika_status) troika_model_add_batch_norm2d(troika_model model, const char *name,
                                                        troika_value input, double eps,
                                                        double momentum, troika_value *out_value,
                                                        troika_error *error);

/** Adds max(x, 0), element by element. Any shape. Errors and threads: those of all layers. */
TROIKA_API(troika_status) troika_model_add_relu(troika_model model, const char *name,
                                                troika_value input, troika_value *out_value,
                                                troika_error *error);

/**
 * Adds GELU (Hendrycks and Gimpel 2016) without approximation, element by element: x Phi(x), with
 * the distribution function Phi of the standard normal distribution. Any shape. -infinity becomes
 * 0, and NaN stays NaN. Otherwise as torch.nn.GELU.
 *
 * Errors and threads: those of all layers.
 */
TROIKA_API(troika_status) troika_model_add_gelu(troika_model model, const char *name,
                                                troika_value input, troika_value *out_value,
                                                troika_error *error);

/**
 * Options of max and average pooling. Begin with TROIKA_POOL2D_OPTIONS_INIT. Arrays are {height,
 * width}.
 */
typedef struct troika_pool2d_options {
  uint32_t struct_size;         /**< sizeof(troika_pool2d_options). */
  /** Average pooling: 1 leaves the padding out of the mean. 0 (default, as in PyTorch): it
   *  counts. */
  int32_t exclude_padding;
  int64_t kernel[2];            /**< Must be set. */
  int64_t stride[2];            /**< Unset: the kernel. */
  int64_t padding[2];           /**< At most half the kernel; default 0. */
} troika_pool2d_options;

/** `kernel` and `stride` unset, the other fields at their defaults. */
#define TROIKA_POOL2D_OPTIONS_INIT                                                               \
  {                                                                                              \
    sizeof(troika_pool2d_options), 0, {TROIKA_UNSET, TROIKA_UNSET},                              \
        {TROIKA_UNSET, TROIKA_UNSET}, {0, 0}                                                     \
  }

/** Fills `options` as TROIKA_POOL2D_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_pool2d_options_init(troika_pool2d_options *options, uint32_t struct_size);

/**
 * Adds max pooling over windows: [batch, C, H, W] to [batch, C, H', W']. H' = (H + 2 padding -
 * kernel) / stride + 1, rounded down.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT names the option, or the window that is
 * too large.
 */
TROIKA_API(troika_status) troika_model_add_max_pool2d(troika_model model, const char *name,
                                                      troika_value input,
                                                      const troika_pool2d_options *options,
                                                      troika_value *out_value, troika_error *error);

/**
 * Adds average pooling over windows: [batch, C, H, W] to [batch, C, H', W'], with the sizes of
 * `troika_model_add_max_pool2d`.
 *
 * Errors and threads: those of `troika_model_add_max_pool2d`.
 */
TROIKA_API(troika_status) troika_model_add_avg_pool2d(troika_model model, const char *name,
                                                      troika_value input,
                                                      const troika_pool2d_options *options,
                                                      troika_value *out_value, troika_error *error);

/**
 * Adds adaptive average pooling: [batch, C, H, W] to [batch, C, out_height, out_width], with
 * PyTorch's windows.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for an output size below 1.
 */
TROIKA_API(troika_status) troika_model_add_adaptive_avg_pool2d(troika_model model, const char *name,
                                                               troika_value input,
                                                               int64_t out_height,
                                                               int64_t out_width,
                                                               troika_value *out_value,
                                                               troika_error *error);

/**
 * Adds a flattening of all axes except the batch: [batch, a, b, ...] to [batch, a * b * ...].
 *
 * Errors and threads: those of all layers.
 */
TROIKA_API(troika_status) troika_model_add_flatten(troika_model model, const char *name,
                                                   troika_value input, troika_value *out_value,
                                                   troika_error *error);

/**
 * Adds the sum of two values of one shape (op `add`): the residual connection.
 *
 * Errors and threads: those of all layers.
 */
TROIKA_API(troika_status) troika_model_add_sum(troika_model model, const char *name, troika_value a,
                                               troika_value b, troika_value *out_value,
                                               troika_error *error);

/**
 * Adds dropout. In training each element becomes zero with `probability` in [0, 1), and is divided
 * by 1 - probability otherwise; in evaluation nothing changes. The mask is a function of (seed,
 * step, layer, sample), so it does not depend on the number of devices. Any shape.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for another `probability`.
 */
TROIKA_API(troika_status) troika_model_add_dropout(troika_model model, const char *name,
                                                   troika_value input, double probability,
                                                   troika_value *out_value, troika_error *error);

/**
 * Adds a long short-term memory (Hochreiter and Schmidhuber 1997, as PyTorch's nn.LSTM computes it)
 * of one layer and one direction: [batch, steps, features] to [batch, steps, hidden]. The first
 * states are zero. For each step x of a sequence, with * element by element:
 *
 *     i, f, o = sigmoid(W_ih x + b_ih + W_hh h + b_hh)      g = tanh(its own rows of the same)
 *     c = f * c + i * g                                     h = o * tanh(c), the step's output
 *
 * `bias` is 1 with biases, 0 without; TROIKA_UNSET is 1. Deeper nets are layers on top of each
 * other. A classifier reads one step (`troika_model_add_select_step`). Long sequences are cut in
 * time into about sqrt(steps) parts; recompute keeps the states between parts. The layer computes
 * in f32 with any precision, except that on GPUs TROIKA_PRECISION_TF32 makes its products TF32.
 *
 * Parameters, with gates in the order i, f, g, o: weight_ih_l0 [4 hidden, features], weight_hh_l0
 * [4 hidden, hidden], bias_ih_l0 and bias_hh_l0 [4 hidden]. The names are PyTorch's, so its weights
 * load.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for an input that is not a sequence,
 * for `hidden` below 1 and for another `bias`.
 *
 *     const int64_t sequence[] = {200, 64};                                    // [batch, 200, 64]
 *     troika_model_add_input(model, "x", sequence, 2, &x, &error);
 *     troika_model_add_lstm(model, "lstm", x, 128, 1, &x, &error);             // [batch, 200, 128]
 *     troika_model_add_select_step(model, "last", x, -1, &x, &error);          // [batch, 128]
 *     troika_model_add_linear(model, "fc", x, 10, 1, &x, &error);              // [batch, 10]
 */
TROIKA_API(troika_status) troika_model_add_lstm(troika_model model, const char *name,
                                                troika_value input, int64_t hidden, int32_t bias,
                                                troika_value *out_value, troika_error *error);

/**
 * Adds a gated recurrent unit (Cho et al. 2014, as PyTorch's nn.GRU computes it) of one layer and
 * one direction: [batch, steps, features] to [batch, steps, hidden]. The first state is zero. For
 * each step x of a sequence, with * element by element:
 *
 *     r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh)
 *     n = tanh(W_in x + b_in + r * (W_hn h + b_hn))
 *     h = (1 - z) * n + z * h, the step's output
 *
 * Parameters, with gates in the order r, z, n: weight_ih_l0 [3 hidden, features], weight_hh_l0 [3
 * hidden, hidden], bias_ih_l0 and bias_hh_l0 [3 hidden].
 *
 * Everything else, errors and threads: as `troika_model_add_lstm`.
 */
TROIKA_API(troika_status) troika_model_add_gru(troika_model model, const char *name,
                                               troika_value input, int64_t hidden, int32_t bias,
                                               troika_value *out_value, troika_error *error);

/**
 * Adds the choice of one step: [batch, steps, features] to [batch, features]. `step` 0 is the first
 * step. Steps below 0 count from the end: -1 is the last.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for an input that is not a sequence,
 * and for a step that it does not have.
 */
TROIKA_API(troika_status) troika_model_add_select_step(troika_model model, const char *name,
                                                       troika_value input, int64_t step,
                                                       troika_value *out_value,
                                                       troika_error *error);

/**
 * Completes the model: `value`, of any shape [batch, ...], is its output. No layer can be added
 * afterwards.
 *
 * Errors: INVALID_ARGUMENT (a value that is not this model's, or is its input; a model that is
 * complete), OUT_OF_MEMORY, BUSY.
 */
TROIKA_API(troika_status) troika_model_set_output(troika_model model, troika_value value,
                                                  troika_error *error);

/** @} */

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
 * NULL: all). Initialisers that use fans leave out parameters with one axis, such as biases and
 * BatchNorm's; those of them without a value take the model's default. The values depend only on
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
 * Initialises every parameter and buffer by the model's default, which is PyTorch's for each layer:
 * - convolution and linear: weights and biases uniform within 1/sqrt(fan_in).
 * - LSTM and GRU: weights and biases uniform within 1/sqrt(hidden).
 * - embedding: weight normal with standard deviation 1.
 * - BatchNorm: weight 1, bias 0, running_mean 0, running_var 1, num_batches_tracked 0.
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
  int32_t reserved;     /**< 0. */
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
  /** 0 (default): names that differ are MISMATCH. 1: loads the names that are in both. Shapes and
   *  dtypes must always agree. */
  int32_t allow_partial;
  /** Removed from the beginning of every name in the file, such as "module."; NULL: none. */
  const char *strip_prefix;
} troika_load_options;

/** Strict, no prefix. */
#define TROIKA_LOAD_OPTIONS_INIT \
  { sizeof(troika_load_options), 0, NULL }

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
 * the report is filled for MISMATCH too.
 *
 * Errors:
 * - NOT_FOUND (no such file), IO.
 * - CORRUPT: its format, or the checksum of its data.
 * - MISMATCH: names, shapes or dtypes; also if nothing at all can be loaded.
 * - INVALID_ARGUMENT (an option), OUT_OF_MEMORY.
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
