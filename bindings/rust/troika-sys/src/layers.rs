// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

/// The output of a layer. Other models refuse the value. 0 is no value.
pub type troika_value = i64;

/// The object that [`troika_model`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_model_s {
    _private: [u8; 0],
}

/// A network of named layers. Counted. A model and the trainers that it is attached to share
/// parameters.
pub type troika_model = *mut troika_model_s;

/// Options of a 1-d convolution. Begin with `TROIKA_CONV1D_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_conv1d_options {
    /// sizeof([`troika_conv1d_options`](crate::troika_conv1d_options)).
    pub struct_size: u32,
    /// 1: without a bias; 0 (default): with.
    pub no_bias: i32,
    /// Must be set.
    pub out_channels: i64,
    /// Must be set.
    pub kernel: i64,
    /// Default 1.
    pub stride: i64,
    /// Zeros added on each side; default 0.
    pub padding: i64,
    /// Default 1.
    pub dilation: i64,
    /// Default 1; divides both channel counts.
    pub groups: i64,
}

/// Options of a 2-d convolution, and of a transposed one. Begin with `TROIKA_CONV2D_OPTIONS_INIT`.
/// Arrays are {height, width}.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_conv2d_options {
    /// sizeof([`troika_conv2d_options`](crate::troika_conv2d_options)).
    pub struct_size: u32,
    /// 1: without a bias; 0 (default): with.
    pub no_bias: i32,
    /// Must be set.
    pub out_channels: i64,
    /// Must be set.
    pub kernel: [i64; 2],
    /// Default 1.
    pub stride: [i64; 2],
    /// Zeros added on each side; default 0.
    pub padding: [i64; 2],
    /// Default 1.
    pub dilation: [i64; 2],
    /// Default 1; divides both channel counts.
    pub groups: i64,
    /// Rows and columns that the output of a transposed convolution has in addition, at its end;
    /// fewer than the stride. Default 0; 0 for a convolution.
    pub output_padding: [i64; 2],
}

/// Options of max and average pooling. Begin with `TROIKA_POOL2D_OPTIONS_INIT`. Arrays are {height,
/// width}.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_pool2d_options {
    /// sizeof([`troika_pool2d_options`](crate::troika_pool2d_options)).
    pub struct_size: u32,
    /// Average pooling: 1 leaves the padding out of the mean. 0 (default, as in PyTorch): it
    /// counts.
    pub exclude_padding: i32,
    /// Must be set.
    pub kernel: [i64; 2],
    /// Unset: the kernel.
    pub stride: [i64; 2],
    /// At most half the kernel; default 0.
    pub padding: [i64; 2],
}

extern "C" {
    /// Adds the input: f32 \[batch, dims...\]. dims has rank sizes of at least 1, without the
    /// batch. A model has one input.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for a second input.
    pub fn troika_model_add_input(
        model: troika_model,
        name: *const c_char,
        dims: *const i64,
        rank: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the input as [`troika_model_add_input`](crate::troika_model_add_input) does, of type
    /// dtype: [`TROIKA_DTYPE_F32`](crate::TROIKA_DTYPE_F32), or
    /// [`TROIKA_DTYPE_I32`](crate::TROIKA_DTYPE_I32) for tokens. An embedding reads tokens; they
    /// are never rounded.
    ///
    /// Errors and threads: those of [`troika_model_add_input`](crate::troika_model_add_input);
    /// INVALID_ARGUMENT for another dtype.
    pub fn troika_model_add_typed_input(
        model: troika_model,
        name: *const c_char,
        dtype: i32,
        dims: *const i64,
        rank: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds an embedding: tokens i32 \[batch, ...\] to \[batch, ..., features\]. The output of a
    /// token is its row of the weight. A batch with a token outside 0 to words - 1 is refused. The
    /// gradient of a row is the sum over the row's tokens, in their order, so it has the same bits
    /// on any device.
    ///
    /// Tokens may also be whole numbers of an f32 input, which is how a model has tokens and other
    /// numbers at once: a slice of the input, for example. They are not rounded in any precision;
    /// f32 holds whole numbers up to 2^24. A number outside 0 to words - 1 has a row of zeros and
    /// no gradient, such as -1 for a word that is not there.
    ///
    /// Parameters: weight \[words, features\]; its default initialisation is normal with standard
    /// deviation 1, as in PyTorch.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT if the input is computed with a
    /// parameter, or if words or features is below 1.
    pub fn troika_model_add_embedding(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        words: i64,
        features: i64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills options as `TROIKA_CONV2D_OPTIONS_INIT` does. Any thread.
    pub fn troika_conv2d_options_init(options: *mut troika_conv2d_options, struct_size: u32);

    /// Adds a 2-d convolution, computed as a cross-correlation, as is usual for neural networks:
    /// \[batch, C, H, W\] to \[batch, K, H', W'\]. H' = (H + 2 padding - dilation (kernel - 1) - 1)
    /// / stride + 1, rounded down.
    ///
    /// Parameters: weight \[K, C / groups, `kernel_h`, `kernel_w`\], bias \[K\].
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT names the option, or the window
    /// that is too large.
    pub fn troika_model_add_conv2d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        options: *const troika_conv2d_options,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a transposed 2-d convolution, as torch.nn.ConvTranspose2d: \[batch, C, H, W\] to
    /// \[batch, K, H', W'\]. H' = (H - 1) stride - 2 padding + dilation (kernel - 1) +
    /// `output_padding` + 1. It is the gradient of a convolution from K to C channels with respect
    /// to the input.
    ///
    /// Parameters: weight \[C, K / groups, `kernel_h`, `kernel_w`\], bias \[K\].
    ///
    /// Errors and threads: those of [`troika_model_add_conv2d`](crate::troika_model_add_conv2d).
    pub fn troika_model_add_conv_transpose2d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        options: *const troika_conv2d_options,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills options as `TROIKA_CONV1D_OPTIONS_INIT` does. Any thread.
    pub fn troika_conv1d_options_init(options: *mut troika_conv1d_options, struct_size: u32);

    /// Adds a 1-d convolution, as torch.nn.Conv1d: \[batch, C, L\] to \[batch, K, L'\], with the
    /// sizes of [`troika_model_add_conv2d`](crate::troika_model_add_conv2d). Parameters: weight
    /// \[K, C / groups, kernel\], bias \[K\].
    ///
    /// Errors and threads: those of [`troika_model_add_conv2d`](crate::troika_model_add_conv2d).
    pub fn troika_model_add_conv1d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        options: *const troika_conv1d_options,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a linear layer: \[batch, in\] to \[batch, `out_features`\], y = x W^T + b. bias is 1
    /// with a bias, 0 without; [`TROIKA_UNSET`](crate::TROIKA_UNSET) is 1.
    ///
    /// Parameters: weight \[out, in\], bias \[out\].
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for `out_features` below 1 and for
    /// another bias.
    pub fn troika_model_add_linear(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_features: i64,
        bias: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a linear layer that is applied to each step of a sequence: \[batch, steps, in\] to
    /// \[batch, steps, `out_features`\]. Parameters, errors and threads: those of
    /// [`troika_model_add_linear`](crate::troika_model_add_linear); INVALID_ARGUMENT for an input
    /// that is not a sequence.
    pub fn troika_model_add_linear_per_position(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_features: i64,
        bias: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds batch normalisation of \[batch, C, H, W\], over \[batch, H, W\] of each channel (Ioffe
    /// and Szegedy 2015). Each device normalises its own samples, unless a trainer's
    /// `sync_batch_norm` is 1. PyTorch's defaults are eps 1e-5 and momentum 0.1.
    ///
    /// Parameters: weight \[C\] and bias \[C\]. Buffers: `running_mean` \[C\], `running_var` \[C\]
    /// (unbiased), `num_batches_tracked`. A step sets running = (1 - momentum) running + momentum
    /// batch.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for eps not above 0 and for
    /// momentum outside \[0, 1\].
    pub fn troika_model_add_batch_norm2d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        eps: f64,
        momentum: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds batch normalisation as
    /// [`troika_model_add_batch_norm2d`](crate::troika_model_add_batch_norm2d) does: of \[batch,
    /// C\] over the batch, or of \[batch, C, L\] over \[batch, L\] of each channel. Parameters,
    /// buffers, errors and threads: those of
    /// [`troika_model_add_batch_norm2d`](crate::troika_model_add_batch_norm2d).
    pub fn troika_model_add_batch_norm1d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        eps: f64,
        momentum: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds layer normalisation (Ba, Kiros and Hinton 2016) over the last axes axes of each sample:
    /// Parameters: weight and bias, of the shape of these axes. PyTorch's default of eps is 1e-5.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for axes outside 1 to the axes of
    /// a sample, and for eps not above 0.
    pub fn troika_model_add_layer_norm(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        axes: i32,
        eps: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds group normalisation (Wu and He 2018) of \[batch, C, ...\]: the C channels are divided
    /// into groups groups, and each group of a sample is normalised as in
    /// [`troika_model_add_layer_norm`](crate::troika_model_add_layer_norm). Parameters: weight
    /// \[C\] and bias \[C\].
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for groups that do not divide C,
    /// and for eps not above 0.
    pub fn troika_model_add_group_norm(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        groups: i64,
        eps: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds root mean square normalisation (Zhang and Sennrich 2019) over the last axes axes of
    /// each sample: Parameters: weight, of the shape of these axes.
    ///
    /// Errors and threads: those of
    /// [`troika_model_add_layer_norm`](crate::troika_model_add_layer_norm).
    pub fn troika_model_add_rms_norm(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        axes: i32,
        eps: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds max(x, 0), element by element. Any shape. Errors and threads: those of all layers.
    pub fn troika_model_add_relu(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds GELU (Hendrycks and Gimpel 2016) without approximation, element by element: x Phi(x),
    /// with the distribution function Phi of the standard normal distribution. Any shape. -infinity
    /// becomes 0, and NaN stays NaN. Otherwise as torch.nn.GELU.
    ///
    /// Errors and threads: those of all layers.
    pub fn troika_model_add_gelu(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds 1 / (1 + e^-x), element by element. Any shape. Errors and threads: those of all layers.
    pub fn troika_model_add_sigmoid(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the hyperbolic tangent, element by element. Any shape. Errors and threads: those of all
    /// layers.
    pub fn troika_model_add_tanh(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds x times the sigmoid of x (SiLU, or Swish), element by element. Any shape. Errors and
    /// threads: those of all layers.
    pub fn troika_model_add_silu(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds x if x \> 0, else slope x, element by element. Any shape. PyTorch's default of slope is
    /// 0.01.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for a slope that is not finite.
    pub fn troika_model_add_leaky_relu(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        slope: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds softmax: e^x over the sum of e^x along axis. Axis 0 is the batch; axes below 0 count
    /// from the end. The loss [`TROIKA_LOSS_CROSS_ENTROPY`](crate::TROIKA_LOSS_CROSS_ENTROPY) has a
    /// softmax of its own and reads its input.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the batch, and for
    /// one that the input does not have.
    pub fn troika_model_add_softmax(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        axis: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Fills options as `TROIKA_POOL2D_OPTIONS_INIT` does. Any thread.
    pub fn troika_pool2d_options_init(options: *mut troika_pool2d_options, struct_size: u32);

    /// Adds max pooling over windows: \[batch, C, H, W\] to \[batch, C, H', W'\]. H' = (H + 2
    /// padding - kernel) / stride + 1, rounded down.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT names the option, or the window
    /// that is too large.
    pub fn troika_model_add_max_pool2d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        options: *const troika_pool2d_options,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds average pooling over windows: \[batch, C, H, W\] to \[batch, C, H', W'\], with the
    /// sizes of [`troika_model_add_max_pool2d`](crate::troika_model_add_max_pool2d). Errors and
    /// threads: those of [`troika_model_add_max_pool2d`](crate::troika_model_add_max_pool2d).
    pub fn troika_model_add_avg_pool2d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        options: *const troika_pool2d_options,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds adaptive average pooling: \[batch, C, H, W\] to \[batch, C, `out_height`,
    /// `out_width`\], with PyTorch's windows. Errors and threads: those of all layers;
    /// INVALID_ARGUMENT for an output size below 1.
    pub fn troika_model_add_adaptive_avg_pool2d(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_height: i64,
        out_width: i64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a flattening of all axes except the batch: \[batch, a, b, ...\] to \[batch, a \* b \*
    /// ...\]. Errors and threads: those of all layers.
    pub fn troika_model_add_flatten(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the sum of two values of one shape (op add): the residual connection. Errors and
    /// threads: those of all layers.
    pub fn troika_model_add_sum(
        model: troika_model,
        name: *const c_char,
        a: troika_value,
        b: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the product of two values, element by element. Both have the same number of axes; an
    /// axis of size 1 is repeated, such as in the product of \[batch, C, H, W\] and a factor per
    /// channel, \[batch, C, 1, 1\].
    ///
    /// Errors and threads: those of all layers.
    pub fn troika_model_add_product(
        model: troika_model,
        name: *const c_char,
        a: troika_value,
        b: troika_value,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Joins `input_count` values along axis, in the order of the list. They may differ in the size
    /// of that axis alone. Axis 0 is the batch; axes below 0 count from the end.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for `input_count` below 1, for the
    /// axis of the batch, and for one that the inputs do not have.
    pub fn troika_model_add_concat(
        model: troika_model,
        name: *const c_char,
        inputs: *const troika_value,
        input_count: i32,
        axis: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a reshape: the elements of a sample, row-major, as \[batch, dims...\]. dims has rank
    /// sizes without the batch. One size may be -1: it follows from the others.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT if the number of elements differs.
    pub fn troika_model_add_reshape(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        dims: *const i64,
        rank: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the part \[begin, end) along axis. Axis 0 is the batch; axes below 0 count from the
    /// end.
    ///
    /// A model of several inputs has one input that holds all of them side by side. Slices and
    /// reshapes take the parts out of it (docs/layers.md).
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the batch, for one
    /// that the input does not have, and for a part that is empty or not in the input.
    pub fn troika_model_add_slice(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        axis: i32,
        begin: i64,
        end: i64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the means over some axes; axes has `axis_count` of them. Axis 0 is the batch; axes
    /// below 0 count from the end. `keep_axes` 1 keeps them with the size 1. NULL: over all axes of
    /// a sample.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for the axis of the batch, for one
    /// that the input does not have, or that is named twice, and for another `keep_axes`.
    pub fn troika_model_add_mean(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        axes: *const i32,
        axis_count: i32,
        keep_axes: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds dropout. In training each element becomes zero with probability in \[0, 1), and is
    /// divided by 1 - probability otherwise; in evaluation nothing changes. The mask is a function
    /// of (seed, step, layer, sample), so it does not depend on the number of devices. Any shape.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for another probability.
    pub fn troika_model_add_dropout(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        probability: f64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a long short-term memory (Hochreiter and Schmidhuber 1997, as PyTorch's nn.LSTM
    /// computes it) of one layer and one direction: \[batch, steps, features\] to \[batch, steps,
    /// hidden\]. The first states are zero. For each step x of a sequence, with \* element by
    /// element:
    ///
    /// bias is 1 with biases, 0 without; [`TROIKA_UNSET`](crate::TROIKA_UNSET) is 1. Deeper nets
    /// are layers on top of each other. A classifier reads one step
    /// ([`troika_model_add_select_step`](crate::troika_model_add_select_step)). Long sequences are
    /// cut in time into about sqrt(steps) parts; recompute keeps the states between parts. The
    /// layer computes in f32 with any precision, except that on GPUs
    /// [`TROIKA_PRECISION_TF32`](crate::TROIKA_PRECISION_TF32) makes its products TF32.
    ///
    /// Parameters, with gates in the order i, f, g, o: `weight_ih_l0` \[4 hidden, features\],
    /// `weight_hh_l0` \[4 hidden, hidden\], `bias_ih_l0` and `bias_hh_l0` \[4 hidden\]. The names
    /// are PyTorch's, so its weights load.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for an input that is not a
    /// sequence, for hidden below 1 and for another bias.
    pub fn troika_model_add_lstm(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        hidden: i64,
        bias: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds a gated recurrent unit (Cho et al. 2014, as PyTorch's nn.GRU computes it) of one layer
    /// and one direction: \[batch, steps, features\] to \[batch, steps, hidden\]. The first state
    /// is zero. For each step x of a sequence, with \* element by element:
    ///
    /// Parameters, with gates in the order r, z, n: `weight_ih_l0` \[3 hidden, features\],
    /// `weight_hh_l0` \[3 hidden, hidden\], `bias_ih_l0` and `bias_hh_l0` \[3 hidden\].
    ///
    /// Everything else, errors and threads: as
    /// [`troika_model_add_lstm`](crate::troika_model_add_lstm).
    pub fn troika_model_add_gru(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        hidden: i64,
        bias: i32,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Adds the choice of one step: \[batch, steps, features\] to \[batch, features\]. step 0 is
    /// the first step. Steps below 0 count from the end: -1 is the last.
    ///
    /// Errors and threads: those of all layers; INVALID_ARGUMENT for an input that is not a
    /// sequence, and for a step that it does not have.
    pub fn troika_model_add_select_step(
        model: troika_model,
        name: *const c_char,
        input: troika_value,
        step: i64,
        out_value: *mut troika_value,
        error: *mut troika_error,
    ) -> troika_status;

    /// Makes two layers share one parameter: parameter name of a layer that is added later is
    /// parameter of of a layer that the model has. In this way the output layer of a language model
    /// reads the table of its embedding. Both names find the parameter; a file stores it once,
    /// under of.
    ///
    /// With a split by layer both layers are in one part; with a split by channel neither is cut.
    ///
    /// Errors: INVALID_ARGUMENT (a name that is not UTF-8, has no dot, or is a parameter already; a
    /// model that is complete), NOT_FOUND (of is no parameter; the message has the nearest name),
    /// OUT_OF_MEMORY, BUSY. The layer that is added later refuses a parameter of another shape. One
    /// thread per model at a time.
    pub fn troika_model_share_parameter(
        model: troika_model,
        name: *const c_char,
        of: *const c_char,
        error: *mut troika_error,
    ) -> troika_status;

    /// Completes the model: value, of any shape \[batch, ...\], is its output. No layer can be
    /// added afterwards.
    ///
    /// Errors: INVALID_ARGUMENT (a value that is not this model's, or is its input; a model that is
    /// complete; a shared parameter that no layer took), OUT_OF_MEMORY, BUSY.
    pub fn troika_model_set_output(
        model: troika_model,
        value: troika_value,
        error: *mut troika_error,
    ) -> troika_status;
}
