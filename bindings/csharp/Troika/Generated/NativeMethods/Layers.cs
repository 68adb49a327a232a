// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Adds the input: f32 [batch, dims...]. dims has rank sizes of at least 1,
        /// without the batch. A model has one input.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for a second
        /// input.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_input(
            ModelHandle model, byte[] name, long[] dims, int rank, out long out_value,
            out troika_error error);

        /// <summary>Adds the input as troika_model_add_input does, of type dtype: TROIKA_DTYPE_F32,
        /// or TROIKA_DTYPE_I32 for tokens. An embedding reads tokens; they are never
        /// rounded.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of troika_model_add_input; INVALID_ARGUMENT for another
        /// dtype.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_typed_input(
            ModelHandle model, byte[] name, int dtype, long[] dims, int rank, out long out_value,
            out troika_error error);

        /// <summary>Adds an embedding: tokens i32 [batch, ...] to [batch, ..., features]. The
        /// output of a token is its row of the weight. A batch with a token outside 0 to words - 1
        /// is refused. The gradient of a row is the sum over the row's tokens, in their order, so
        /// it has the same bits on any device.</summary>
        /// <remarks>
        /// <para>Tokens may also be whole numbers of an f32 input, which is how a model has tokens
        /// and other numbers at once: a slice of the input, for example. They are not rounded in
        /// any precision; f32 holds whole numbers up to 2^24. A number outside 0 to words - 1 has a
        /// row of zeros and no gradient, such as -1 for a word that is not there.</para>
        /// <para>Parameters: weight [words, features]; its default initialisation is normal with
        /// standard deviation 1, as in PyTorch.</para>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT if the input is computed
        /// with a parameter, or if words or features is below 1.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_embedding(
            ModelHandle model, byte[] name, long input, long words, long features,
            out long out_value, out troika_error error);

        /// <summary>Fills options as TROIKA_CONV2D_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_conv2d_options_init(
            troika_conv2d_options* options, uint struct_size);

        /// <summary>Adds a 2-d convolution, computed as a cross-correlation, as is usual for neural
        /// networks: [batch, C, H, W] to [batch, K, H', W']. H' = (H + 2 padding - dilation (kernel
        /// - 1) - 1) / stride + 1, rounded down.</summary>
        /// <remarks>
        /// <para>Parameters: weight [K, C / groups, kernel_h, kernel_w], bias [K].</para>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT names the option, or the
        /// window that is too large.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_conv2d(
            ModelHandle model, byte[] name, long input, troika_conv2d_options* options,
            out long out_value, out troika_error error);

        /// <summary>Adds a transposed 2-d convolution, as torch.nn.ConvTranspose2d: [batch, C, H,
        /// W] to [batch, K, H', W']. H' = (H - 1) stride - 2 padding + dilation (kernel - 1) +
        /// output_padding + 1. It is the gradient of a convolution from K to C channels with
        /// respect to the input.</summary>
        /// <remarks>
        /// <para>Parameters: weight [C, K / groups, kernel_h, kernel_w], bias [K].</para>
        /// <para>Errors and threads: those of troika_model_add_conv2d.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_conv_transpose2d(
            ModelHandle model, byte[] name, long input, troika_conv2d_options* options,
            out long out_value, out troika_error error);

        /// <summary>Fills options as TROIKA_CONV1D_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_conv1d_options_init(
            troika_conv1d_options* options, uint struct_size);

        /// <summary>Adds a 1-d convolution, as torch.nn.Conv1d: [batch, C, L] to [batch, K, L'],
        /// with the sizes of troika_model_add_conv2d. Parameters: weight [K, C / groups, kernel],
        /// bias [K].</summary>
        /// <remarks>
        /// <para>Errors and threads: those of troika_model_add_conv2d.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_conv1d(
            ModelHandle model, byte[] name, long input, troika_conv1d_options* options,
            out long out_value, out troika_error error);

        /// <summary>Adds a linear layer: [batch, in] to [batch, out_features], y = x W^T + b. bias
        /// is 1 with a bias, 0 without; TROIKA_UNSET is 1.</summary>
        /// <remarks>
        /// <para>Parameters: weight [out, in], bias [out].</para>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for out_features below 1
        /// and for another bias.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_linear(
            ModelHandle model, byte[] name, long input, long out_features, int bias,
            out long out_value, out troika_error error);

        /// <summary>Adds a linear layer that is applied to each step of a sequence: [batch, steps,
        /// in] to [batch, steps, out_features]. Parameters, errors and threads: those of
        /// troika_model_add_linear; INVALID_ARGUMENT for an input that is not a sequence.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_linear_per_position(
            ModelHandle model, byte[] name, long input, long out_features, int bias,
            out long out_value, out troika_error error);

        /// <summary>Adds batch normalisation of [batch, C, H, W], over [batch, H, W] of each
        /// channel (Ioffe and Szegedy 2015). Each device normalises its own samples, unless a
        /// trainer's sync_batch_norm is 1. PyTorch's defaults are eps 1e-5 and momentum
        /// 0.1.</summary>
        /// <remarks>
        /// <para>Parameters: weight [C] and bias [C]. Buffers: running_mean [C], running_var [C]
        /// (unbiased), num_batches_tracked. A step sets running = (1 - momentum) running + momentum
        /// batch.</para>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for eps not above 0 and
        /// for momentum outside [0, 1].</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_batch_norm2d(
            ModelHandle model, byte[] name, long input, double eps, double momentum,
            out long out_value, out troika_error error);

        /// <summary>Adds batch normalisation as troika_model_add_batch_norm2d does: of [batch, C]
        /// over the batch, or of [batch, C, L] over [batch, L] of each channel. Parameters,
        /// buffers, errors and threads: those of troika_model_add_batch_norm2d.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_batch_norm1d(
            ModelHandle model, byte[] name, long input, double eps, double momentum,
            out long out_value, out troika_error error);

        /// <summary>Adds layer normalisation (Ba, Kiros and Hinton 2016) over the last axes axes of
        /// each sample: Parameters: weight and bias, of the shape of these axes. PyTorch's default
        /// of eps is 1e-5.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for axes outside 1 to
        /// the axes of a sample, and for eps not above 0.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_layer_norm(
            ModelHandle model, byte[] name, long input, int axes, double eps, out long out_value,
            out troika_error error);

        /// <summary>Adds group normalisation (Wu and He 2018) of [batch, C, ...]: the C channels
        /// are divided into groups groups, and each group of a sample is normalised as in
        /// troika_model_add_layer_norm. Parameters: weight [C] and bias [C].</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for groups that do not
        /// divide C, and for eps not above 0.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_group_norm(
            ModelHandle model, byte[] name, long input, long groups, double eps, out long out_value,
            out troika_error error);

        /// <summary>Adds root mean square normalisation (Zhang and Sennrich 2019) over the last
        /// axes axes of each sample: Parameters: weight, of the shape of these axes.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of troika_model_add_layer_norm.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_rms_norm(
            ModelHandle model, byte[] name, long input, int axes, double eps, out long out_value,
            out troika_error error);

        /// <summary>Adds max(x, 0), element by element. Any shape. Errors and threads: those of all
        /// layers.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_relu(
            ModelHandle model, byte[] name, long input, out long out_value, out troika_error error);

        /// <summary>Adds GELU (Hendrycks and Gimpel 2016) without approximation, element by
        /// element: x Phi(x), with the distribution function Phi of the standard normal
        /// distribution. Any shape. -infinity becomes 0, and NaN stays NaN. Otherwise as
        /// torch.nn.GELU.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_gelu(
            ModelHandle model, byte[] name, long input, out long out_value, out troika_error error);

        /// <summary>Adds 1 / (1 + e^-x), element by element. Any shape. Errors and threads: those
        /// of all layers.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_sigmoid(
            ModelHandle model, byte[] name, long input, out long out_value, out troika_error error);

        /// <summary>Adds the hyperbolic tangent, element by element. Any shape. Errors and threads:
        /// those of all layers.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_tanh(
            ModelHandle model, byte[] name, long input, out long out_value, out troika_error error);

        /// <summary>Adds x times the sigmoid of x (SiLU, or Swish), element by element. Any shape.
        /// Errors and threads: those of all layers.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_silu(
            ModelHandle model, byte[] name, long input, out long out_value, out troika_error error);

        /// <summary>Adds x if x &gt; 0, else slope x, element by element. Any shape. PyTorch's
        /// default of slope is 0.01.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for a slope that is not
        /// finite.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_leaky_relu(
            ModelHandle model, byte[] name, long input, double slope, out long out_value,
            out troika_error error);

        /// <summary>Adds softmax: e^x over the sum of e^x along axis. Axis 0 is the batch; axes
        /// below 0 count from the end. The loss TROIKA_LOSS_CROSS_ENTROPY has a softmax of its own
        /// and reads its input.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the
        /// batch, and for one that the input does not have.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_softmax(
            ModelHandle model, byte[] name, long input, int axis, out long out_value,
            out troika_error error);

        /// <summary>Fills options as TROIKA_POOL2D_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_pool2d_options_init(
            troika_pool2d_options* options, uint struct_size);

        /// <summary>Adds max pooling over windows: [batch, C, H, W] to [batch, C, H', W']. H' = (H
        /// + 2 padding - kernel) / stride + 1, rounded down.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT names the option, or the
        /// window that is too large.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_max_pool2d(
            ModelHandle model, byte[] name, long input, troika_pool2d_options* options,
            out long out_value, out troika_error error);

        /// <summary>Adds average pooling over windows: [batch, C, H, W] to [batch, C, H', W'], with
        /// the sizes of troika_model_add_max_pool2d. Errors and threads: those of
        /// troika_model_add_max_pool2d.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_avg_pool2d(
            ModelHandle model, byte[] name, long input, troika_pool2d_options* options,
            out long out_value, out troika_error error);

        /// <summary>Adds adaptive average pooling: [batch, C, H, W] to [batch, C, out_height,
        /// out_width], with PyTorch's windows. Errors and threads: those of all layers;
        /// INVALID_ARGUMENT for an output size below 1.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_adaptive_avg_pool2d(
            ModelHandle model, byte[] name, long input, long out_height, long out_width,
            out long out_value, out troika_error error);

        /// <summary>Adds a flattening of all axes except the batch: [batch, a, b, ...] to [batch, a
        /// * b * ...]. Errors and threads: those of all layers.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_flatten(
            ModelHandle model, byte[] name, long input, out long out_value, out troika_error error);

        /// <summary>Adds the sum of two values of one shape (op add): the residual connection.
        /// Errors and threads: those of all layers.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_sum(
            ModelHandle model, byte[] name, long a, long b, out long out_value,
            out troika_error error);

        /// <summary>Adds the product of two values, element by element. Both have the same number
        /// of axes; an axis of size 1 is repeated, such as in the product of [batch, C, H, W] and a
        /// factor per channel, [batch, C, 1, 1].</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_product(
            ModelHandle model, byte[] name, long a, long b, out long out_value,
            out troika_error error);

        /// <summary>Joins input_count values along axis, in the order of the list. They may differ
        /// in the size of that axis alone. Axis 0 is the batch; axes below 0 count from the
        /// end.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for input_count below 1,
        /// for the axis of the batch, and for one that the inputs do not have.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_concat(
            ModelHandle model, byte[] name, long[] inputs, int input_count, int axis,
            out long out_value, out troika_error error);

        /// <summary>Adds a reshape: the elements of a sample, row-major, as [batch, dims...]. dims
        /// has rank sizes without the batch. One size may be -1: it follows from the
        /// others.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT if the number of
        /// elements differs.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_reshape(
            ModelHandle model, byte[] name, long input, long[] dims, int rank, out long out_value,
            out troika_error error);

        /// <summary>Adds the part [begin, end) along axis. Axis 0 is the batch; axes below 0 count
        /// from the end.</summary>
        /// <remarks>
        /// <para>A model of several inputs has one input that holds all of them side by side.
        /// Slices and reshapes take the parts out of it (docs/layers.md).</para>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the
        /// batch, for one that the input does not have, and for a part that is empty or not in the
        /// input.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_slice(
            ModelHandle model, byte[] name, long input, int axis, long begin, long end,
            out long out_value, out troika_error error);

        /// <summary>Adds the means over some axes; axes has axis_count of them. Axis 0 is the
        /// batch; axes below 0 count from the end. keep_axes 1 keeps them with the size 1. NULL:
        /// over all axes of a sample.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the
        /// batch, for one that the input does not have, or that is named twice, and for another
        /// keep_axes.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_mean(
            ModelHandle model, byte[] name, long input, int* axes, int axis_count, int keep_axes,
            out long out_value, out troika_error error);

        /// <summary>Adds dropout. In training each element becomes zero with probability in [0, 1),
        /// and is divided by 1 - probability otherwise; in evaluation nothing changes. The mask is
        /// a function of (seed, step, layer, sample), so it does not depend on the number of
        /// devices. Any shape.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for another
        /// probability.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_dropout(
            ModelHandle model, byte[] name, long input, double probability, out long out_value,
            out troika_error error);

        /// <summary>Adds a long short-term memory (Hochreiter and Schmidhuber 1997, as PyTorch's
        /// nn.LSTM computes it) of one layer and one direction: [batch, steps, features] to [batch,
        /// steps, hidden]. The first states are zero. For each step x of a sequence, with * element
        /// by element:</summary>
        /// <remarks>
        /// <para>bias is 1 with biases, 0 without; TROIKA_UNSET is 1. Deeper nets are layers on top
        /// of each other. A classifier reads one step (troika_model_add_select_step). Long
        /// sequences are cut in time into about sqrt(steps) parts; recompute keeps the states
        /// between parts. The layer computes in f32 with any precision, except that on GPUs
        /// TROIKA_PRECISION_TF32 makes its products TF32.</para>
        /// <para>Parameters, with gates in the order i, f, g, o: weight_ih_l0 [4 hidden, features],
        /// weight_hh_l0 [4 hidden, hidden], bias_ih_l0 and bias_hh_l0 [4 hidden]. The names are
        /// PyTorch's, so its weights load.</para>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for an input that is not
        /// a sequence, for hidden below 1 and for another bias.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_lstm(
            ModelHandle model, byte[] name, long input, long hidden, int bias, out long out_value,
            out troika_error error);

        /// <summary>Adds a gated recurrent unit (Cho et al. 2014, as PyTorch's nn.GRU computes it)
        /// of one layer and one direction: [batch, steps, features] to [batch, steps, hidden]. The
        /// first state is zero. For each step x of a sequence, with * element by element:</summary>
        /// <remarks>
        /// <para>Parameters, with gates in the order r, z, n: weight_ih_l0 [3 hidden, features],
        /// weight_hh_l0 [3 hidden, hidden], bias_ih_l0 and bias_hh_l0 [3 hidden].</para>
        /// <para>Everything else, errors and threads: as troika_model_add_lstm.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_gru(
            ModelHandle model, byte[] name, long input, long hidden, int bias, out long out_value,
            out troika_error error);

        /// <summary>Adds the choice of one step: [batch, steps, features] to [batch, features].
        /// step 0 is the first step. Steps below 0 count from the end: -1 is the last.</summary>
        /// <remarks>
        /// <para>Errors and threads: those of all layers; INVALID_ARGUMENT for an input that is not
        /// a sequence, and for a step that it does not have.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_add_select_step(
            ModelHandle model, byte[] name, long input, long step, out long out_value,
            out troika_error error);

        /// <summary>Makes two layers share one parameter: parameter name of a layer that is added
        /// later is parameter of of a layer that the model has. In this way the output layer of a
        /// language model reads the table of its embedding. Both names find the parameter; a file
        /// stores it once, under of.</summary>
        /// <remarks>
        /// <para>With a split by layer both layers are in one part; with a split by channel neither
        /// is cut.</para>
        /// <para>Errors: INVALID_ARGUMENT (a name that is not UTF-8, has no dot, or is a parameter
        /// already; a model that is complete), NOT_FOUND (of is no parameter; the message has the
        /// nearest name), OUT_OF_MEMORY, BUSY. The layer that is added later refuses a parameter of
        /// another shape. One thread per model at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_share_parameter(
            ModelHandle model, byte[] name, byte[] of, out troika_error error);

        /// <summary>Completes the model: value, of any shape [batch, ...], is its output. No layer
        /// can be added afterwards.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (a value that is not this model's, or is its input; a
        /// model that is complete; a shared parameter that no layer took), OUT_OF_MEMORY,
        /// BUSY.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_set_output(
            ModelHandle model, long value, out troika_error error);
    }
}
