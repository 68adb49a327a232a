/** @file layers.h Layers: what a model is built of, one call per layer.
 *
 * Threads: one thread per model at a time. A call that cannot run gets BUSY.
 */
#ifndef TROIKA_LAYERS_H
#define TROIKA_LAYERS_H

#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/**
 * A network of named layers. Counted. A model and the trainers that it is attached to share
 * parameters.
 */
typedef struct troika_model_s *troika_model;

/** The output of a layer. Other models refuse the value. 0 is no value. */
typedef int64_t troika_value;

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
 * Tokens may also be whole numbers of an f32 input, which is how a model has tokens and other
 * numbers at once: a slice of the input, for example. They are not rounded in any precision; f32
 * holds whole numbers up to 2^24. A number outside 0 to `words` - 1 has a row of zeros and no
 * gradient, such as -1 for a word that is not there.
 *
 * Parameters: weight [words, features]; its default initialisation is normal with standard
 * deviation 1, as in PyTorch.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT if the input is computed with a
 * parameter, or if `words` or `features` is below 1.
 */
TROIKA_API(troika_status) troika_model_add_embedding(troika_model model, const char *name,
                                                     troika_value input, int64_t words,
                                                     int64_t features, troika_value *out_value,
                                                     troika_error *error);

/**
 * Options of a 2-d convolution, and of a transposed one. Begin with TROIKA_CONV2D_OPTIONS_INIT.
 * Arrays are {height, width}.
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
  /** Rows and columns that the output of a transposed convolution has in addition, at its end;
   *  fewer than the stride. Default 0; 0 for a convolution. */
  int64_t output_padding[2];
} troika_conv2d_options;

/** `out_channels` and `kernel` unset, the other fields at their defaults. */
#define TROIKA_CONV2D_OPTIONS_INIT                                                               \
  {                                                                                              \
    sizeof(troika_conv2d_options), 0, TROIKA_UNSET, {TROIKA_UNSET, TROIKA_UNSET}, {1, 1},        \
        {0, 0}, {1, 1}, 1, {0, 0}                                                                \
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
 * Adds a transposed 2-d convolution, as torch.nn.ConvTranspose2d: [batch, C, H, W] to [batch, K,
 * H', W']. H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1. It is the
 * gradient of a convolution from K to C channels with respect to the input.
 *
 * Parameters: weight [C, K / groups, kernel_h, kernel_w], bias [K].
 *
 * Errors and threads: those of `troika_model_add_conv2d`.
 */
TROIKA_API(troika_status) troika_model_add_conv_transpose2d(troika_model model, const char *name,
                                                            troika_value input,
                                                            const troika_conv2d_options *options,
                                                            troika_value *out_value,
                                                            troika_error *error);

/** Options of a 1-d convolution. Begin with TROIKA_CONV1D_OPTIONS_INIT. */
typedef struct troika_conv1d_options {
  uint32_t struct_size;    /**< sizeof(troika_conv1d_options). */
  int32_t no_bias;         /**< 1: without a bias; 0 (default): with. */
  int64_t out_channels;    /**< Must be set. */
  int64_t kernel;          /**< Must be set. */
  int64_t stride;          /**< Default 1. */
  int64_t padding;         /**< Zeros added on each side; default 0. */
  int64_t dilation;        /**< Default 1. */
  int64_t groups;          /**< Default 1; divides both channel counts. */
} troika_conv1d_options;

/** `out_channels` and `kernel` unset, the other fields at their defaults. */
#define TROIKA_CONV1D_OPTIONS_INIT \
  { sizeof(troika_conv1d_options), 0, TROIKA_UNSET, TROIKA_UNSET, 1, 0, 1, 1 }

/** Fills `options` as TROIKA_CONV1D_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_conv1d_options_init(troika_conv1d_options *options, uint32_t struct_size);

/**
 * Adds a 1-d convolution, as torch.nn.Conv1d: [batch, C, L] to [batch, K, L'], with the sizes of
 * `troika_model_add_conv2d`.
 *
 * Parameters: weight [K, C / groups, kernel], bias [K].
 *
 * Errors and threads: those of `troika_model_add_conv2d`.
 */
TROIKA_API(troika_status) troika_model_add_conv1d(troika_model model, const char *name,
                                                  troika_value input,
                                                  const troika_conv1d_options *options,
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

/**
 * Adds batch normalisation as `troika_model_add_batch_norm2d` does: of [batch, C] over the batch,
 * or of [batch, C, L] over [batch, L] of each channel.
 *
 * Parameters, buffers, errors and threads: those of `troika_model_add_batch_norm2d`.
 */
TROIKA_API(troika_status) troika_model_add_batch_norm1d(troika_model model, const char *name,
                                                        troika_value input, double eps,
                                                        double momentum, troika_value *out_value,
                                                        troika_error *error);

/**
 * Adds layer normalisation (Ba, Kiros and Hinton 2016) over the last `axes` axes of each sample:
 *
 *     y = (x - mean) / sqrt(variance + eps) * weight + bias
 *
 * Parameters: weight and bias, of the shape of these axes. PyTorch's default of eps is 1e-5.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for `axes` outside 1 to the axes of a
 * sample, and for `eps` not above 0.
 */
TROIKA_API(troika_status) troika_model_add_layer_norm(troika_model model, const char *name,
                                                      troika_value input, int32_t axes,
                                                      double eps, troika_value *out_value,
                                                      troika_error *error);

/**
 * Adds group normalisation (Wu and He 2018) of [batch, C, ...]: the C channels are divided into
 * `groups` groups, and each group of a sample is normalised as in `troika_model_add_layer_norm`.
 *
 * Parameters: weight [C] and bias [C].
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for `groups` that do not divide C, and
 * for `eps` not above 0.
 */
TROIKA_API(troika_status) troika_model_add_group_norm(troika_model model, const char *name,
                                                      troika_value input, int64_t groups,
                                                      double eps, troika_value *out_value,
                                                      troika_error *error);

/**
 * Adds root mean square normalisation (Zhang and Sennrich 2019) over the last `axes` axes of each
 * sample:
 *
 *     y = x / sqrt(mean of x^2 + eps) * weight
 *
 * Parameters: weight, of the shape of these axes.
 *
 * Errors and threads: those of `troika_model_add_layer_norm`.
 */
TROIKA_API(troika_status) troika_model_add_rms_norm(troika_model model, const char *name,
                                                    troika_value input, int32_t axes, double eps,
                                                    troika_value *out_value,
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

/** Adds 1 / (1 + e^-x), element by element. Any shape. Errors and threads: those of all layers. */
TROIKA_API(troika_status) troika_model_add_sigmoid(troika_model model, const char *name,
                                                   troika_value input, troika_value *out_value,
                                                   troika_error *error);

/**
 * Adds the hyperbolic tangent, element by element. Any shape. Errors and threads: those of all
 * layers.
 */
TROIKA_API(troika_status) troika_model_add_tanh(troika_model model, const char *name,
                                                troika_value input, troika_value *out_value,
                                                troika_error *error);

/**
 * Adds x times the sigmoid of x (SiLU, or Swish), element by element. Any shape. Errors and
 * threads: those of all layers.
 */
TROIKA_API(troika_status) troika_model_add_silu(troika_model model, const char *name,
                                                troika_value input, troika_value *out_value,
                                                troika_error *error);

/**
 * Adds x if x > 0, else slope x, element by element. Any shape. PyTorch's default of `slope` is
 * 0.01.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for a `slope` that is not finite.
 */
TROIKA_API(troika_status) troika_model_add_leaky_relu(troika_model model, const char *name,
                                                      troika_value input, double slope,
                                                      troika_value *out_value,
                                                      troika_error *error);

/**
 * Adds softmax: e^x over the sum of e^x along `axis`. Axis 0 is the batch; axes below 0 count from
 * the end. The loss TROIKA_LOSS_CROSS_ENTROPY has a softmax of its own and reads its input.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the batch, and for one
 * that the input does not have.
 */
TROIKA_API(troika_status) troika_model_add_softmax(troika_model model, const char *name,
                                                   troika_value input, int32_t axis,
                                                   troika_value *out_value, troika_error *error);

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
 * Adds the product of two values, element by element. Both have the same number of axes; an axis of
 * size 1 is repeated, such as in the product of [batch, C, H, W] and a factor per channel, [batch,
 * C, 1, 1].
 *
 * Errors and threads: those of all layers.
 */
TROIKA_API(troika_status) troika_model_add_product(troika_model model, const char *name,
                                                   troika_value a, troika_value b,
                                                   troika_value *out_value, troika_error *error);

/**
 * Joins `input_count` values along `axis`, in the order of the list. They may differ in
 * the size of that axis alone. Axis 0 is the batch; axes below 0 count from the end.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for `input_count` below 1, for the axis
 * of the batch, and for one that the inputs do not have.
 */
TROIKA_API(troika_status) troika_model_add_concat(troika_model model, const char *name,
                                                  const troika_value *inputs,
                                                  int32_t input_count, int32_t axis,
                                                  troika_value *out_value, troika_error *error);

/**
 * Adds a reshape: the elements of a sample, row-major, as [batch, dims...]. `dims` has `rank`
 * sizes without the batch. One size may be -1: it follows from the others.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT if the number of elements differs.
 */
TROIKA_API(troika_status) troika_model_add_reshape(troika_model model, const char *name,
                                                   troika_value input, const int64_t *dims,
                                                   int32_t rank, troika_value *out_value,
                                                   troika_error *error);

/**
 * Adds the part [begin, end) along `axis`. Axis 0 is the batch; axes below 0 count from the end.
 *
 * A model of several inputs has one input that holds all of them side by side. Slices and reshapes
 * take the parts out of it (docs/layers.md).
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the batch, for one that
 * the input does not have, and for a part that is empty or not in the input.
 */
TROIKA_API(troika_status) troika_model_add_slice(troika_model model, const char *name,
                                                 troika_value input, int32_t axis, int64_t begin,
                                                 int64_t end, troika_value *out_value,
                                                 troika_error *error);

/**
 * Adds the means over some axes; `axes` has `axis_count` of them. Axis 0 is the batch; axes below 0
 * count from the end. `keep_axes` 1 keeps them with the size 1. NULL: over all axes of a sample.
 *
 * Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the batch, for one that
 * the input does not have, or that is named twice, and for another `keep_axes`.
 */
TROIKA_API(troika_status) troika_model_add_mean(troika_model model, const char *name,
                                                troika_value input, const int32_t *axes,
                                                int32_t axis_count, int32_t keep_axes,
                                                troika_value *out_value, troika_error *error);

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
 * Makes two layers share one parameter: parameter `name` of a layer that is added later is
 * parameter `of` of a layer that the model has. In this way the
 * output layer of a language model reads the table of its embedding. Both names find the
 * parameter; a file stores it once, under `of`.
 *
 * With a split by layer both layers are in one part; with a split by channel neither is cut.
 *
 * Errors: INVALID_ARGUMENT (a name that is not UTF-8, has no dot, or is a parameter already; a
 * model that is complete), NOT_FOUND (`of` is no parameter; the message has the nearest name),
 * OUT_OF_MEMORY, BUSY. The layer that is added later refuses a parameter of another shape. One
 * thread per model at a time.
 *
 *     troika_model_add_embedding(model, "embedding", x, 256, 64, &x, &error);     // [256, 64]
 *     troika_model_add_lstm(model, "lstm", x, 64, 1, &x, &error);
 *     troika_model_share_parameter(model, "fc.weight", "embedding.weight", &error);
 *     troika_model_add_linear_per_position(model, "fc", x, 256, 1, &x, &error);
 */
TROIKA_API(troika_status) troika_model_share_parameter(troika_model model, const char *name,
                                                       const char *of, troika_error *error);

/**
 * Completes the model: `value`, of any shape [batch, ...], is its output. No layer can be added
 * afterwards.
 *
 * Errors: INVALID_ARGUMENT (a value that is not this model's, or is its input; a model that is
 * complete; a shared parameter that no layer took), OUT_OF_MEMORY, BUSY.
 */
TROIKA_API(troika_status) troika_model_set_output(troika_model model, troika_value value,
                                                  troika_error *error);

/** @} */

TROIKA_END_DECLS

#endif
