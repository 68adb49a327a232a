"""Layers: what a model is built of."""

import ctypes

import numpy

from troika import _interface
from troika._call import Handle, call, default_of, encode, fill
from troika._library import lib
from troika.arrays import axes_of, dims_of, dtype_of


def _optional(value):
    return _interface.UNSET if value is None else int(value)


class Layers(Handle):
    """The layers of a Model. Each method adds one, and returns its output, a number that the next layer takes."""

    def _add(self, function, name, *arguments):
        out = ctypes.c_int64()
        call(function, self.handle, encode(name), *arguments, ctypes.byref(out))
        return out.value

    def add_input(self, name, shape, dtype=None):
        """The input: samples [shape], f32, or i32 (tokens) with dtype="int32".

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_input,
        troika_model_add_typed_input.
        """
        if dtype is None:
            return self._add(lib.troika_model_add_input, name, *dims_of(shape))
        return self._add(lib.troika_model_add_typed_input, name, dtype_of(numpy.empty(0, dtype)), *dims_of(shape))

    def add_embedding(self, name, value, words, features):
        """Tokens [...] to features [..., features].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_embedding.
        """
        return self._add(lib.troika_model_add_embedding, name, value, words, features)

    def add_conv2d(self, name, value, out_channels, kernel, **options):
        """A convolution [c, h, w] to [out_channels, ...]. Options: Conv2dOptions; a number stands for both axes.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_conv2d.
        """
        struct = fill(default_of(_interface.troika_conv2d_options), {"out_channels": out_channels, "kernel": kernel, **options},
                      "add_conv2d")
        return self._add(lib.troika_model_add_conv2d, name, value, ctypes.byref(struct))

    def add_linear(self, name, value, out_features, bias=None):
        """A fully connected layer [in] to [out_features].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_linear.
        """
        return self._add(lib.troika_model_add_linear, name, value, out_features, _optional(bias))

    def add_linear_per_position(self, name, value, out_features, bias=None):
        """A fully connected layer for each position: [..., in] to [..., out_features].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_linear_per_position.
        """
        return self._add(lib.troika_model_add_linear_per_position, name, value, out_features, _optional(bias))

    def add_batch_norm2d(self, name, value, eps=1e-5, momentum=0.1):
        """BatchNorm of [c, h, w] by channel.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_batch_norm2d.
        """
        return self._add(lib.troika_model_add_batch_norm2d, name, value, eps, momentum)

    def add_relu(self, name, value):
        """max(x, 0).

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_relu.
        """
        return self._add(lib.troika_model_add_relu, name, value)

    def add_gelu(self, name, value):
        """GELU.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_gelu.
        """
        return self._add(lib.troika_model_add_gelu, name, value)

    def _add_pool(self, function, name, value, kernel, options):
        struct = fill(default_of(_interface.troika_pool2d_options), {"kernel": kernel, **options}, "pooling")
        return self._add(function, name, value, ctypes.byref(struct))

    def add_max_pool2d(self, name, value, kernel, **options):
        """Max-pooling. Options: Pool2dOptions.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_max_pool2d.
        """
        return self._add_pool(lib.troika_model_add_max_pool2d, name, value, kernel, options)

    def add_avg_pool2d(self, name, value, kernel, **options):
        """Average pooling. Options: Pool2dOptions.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_avg_pool2d.
        """
        return self._add_pool(lib.troika_model_add_avg_pool2d, name, value, kernel, options)

    def add_adaptive_avg_pool2d(self, name, value, out_height=1, out_width=1):
        """Average pooling to [c, out_height, out_width].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_adaptive_avg_pool2d.
        """
        return self._add(lib.troika_model_add_adaptive_avg_pool2d, name, value, out_height, out_width)

    def add_flatten(self, name, value):
        """[a, b, ...] to [a * b * ...].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_flatten.
        """
        return self._add(lib.troika_model_add_flatten, name, value)

    def add_sum(self, name, a, b):
        """a + b, of one shape.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_sum.
        """
        return self._add(lib.troika_model_add_sum, name, a, b)

    def add_dropout(self, name, value, probability=0.5):
        """Dropout: zeroes elements while training.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_dropout.
        """
        return self._add(lib.troika_model_add_dropout, name, value, probability)

    def add_lstm(self, name, value, hidden, bias=None):
        """An LSTM over [steps, features] to [steps, hidden].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_lstm.
        """
        return self._add(lib.troika_model_add_lstm, name, value, hidden, _optional(bias))

    def add_gru(self, name, value, hidden, bias=None):
        """A GRU over [steps, features] to [steps, hidden].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_gru.
        """
        return self._add(lib.troika_model_add_gru, name, value, hidden, _optional(bias))

    def add_select_step(self, name, value, step=-1):
        """One step of [steps, features]; -1 is the last.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_select_step.
        """
        return self._add(lib.troika_model_add_select_step, name, value, step)

    def add_conv_transpose2d(self, name, value, out_channels, kernel, **options):
        """A transposed 2-d convolution: [C, H, W] to [K, H', W']. Options: Conv2dOptions.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_conv_transpose2d.
        """
        struct = fill(default_of(_interface.troika_conv2d_options), {"out_channels": out_channels, "kernel": kernel, **options},
                      "add_conv_transpose2d")
        return self._add(lib.troika_model_add_conv_transpose2d, name, value, ctypes.byref(struct))

    def add_conv1d(self, name, value, out_channels, kernel, **options):
        """A 1-d convolution: [C, L] to [K, L']. Options: Conv1dOptions.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_conv1d.
        """
        struct = fill(default_of(_interface.troika_conv1d_options), {"out_channels": out_channels, "kernel": kernel, **options},
                      "add_conv1d")
        return self._add(lib.troika_model_add_conv1d, name, value, ctypes.byref(struct))

    def add_batch_norm1d(self, name, value, eps=1e-5, momentum=0.1):
        """Batch normalisation of [batch, C] or [batch, C, L].

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_batch_norm1d.
        """
        return self._add(lib.troika_model_add_batch_norm1d, name, value, eps, momentum)

    def add_layer_norm(self, name, value, axes, eps=1e-5):
        """Layer normalisation over the last `axes` axes.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_layer_norm.
        """
        return self._add(lib.troika_model_add_layer_norm, name, value, axes, eps)

    def add_group_norm(self, name, value, groups, eps=1e-5):
        """Normalisation of each of `groups` groups of channels.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_group_norm.
        """
        return self._add(lib.troika_model_add_group_norm, name, value, groups, eps)

    def add_rms_norm(self, name, value, axes, eps=1e-5):
        """Root mean square normalisation over the last `axes` axes.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_rms_norm.
        """
        return self._add(lib.troika_model_add_rms_norm, name, value, axes, eps)

    def add_sigmoid(self, name, value):
        """1 / (1 + e^-x), element by element.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_sigmoid.
        """
        return self._add(lib.troika_model_add_sigmoid, name, value)

    def add_tanh(self, name, value):
        """The hyperbolic tangent, element by element.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_tanh.
        """
        return self._add(lib.troika_model_add_tanh, name, value)

    def add_silu(self, name, value):
        """X times the sigmoid of x, element by element.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_silu.
        """
        return self._add(lib.troika_model_add_silu, name, value)

    def add_leaky_relu(self, name, value, slope=0.01):
        """X if x > 0, else `slope` x, element by element.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_leaky_relu.
        """
        return self._add(lib.troika_model_add_leaky_relu, name, value, slope)

    def add_softmax(self, name, value, axis=-1):
        """E^x over the sum of e^x along `axis`, which is not the batch.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_softmax.
        """
        return self._add(lib.troika_model_add_softmax, name, value, axis)

    def add_slice(self, name, value, axis, begin, end):
        """The part [begin, end) along `axis`, which is not the batch.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_slice.
        """
        return self._add(lib.troika_model_add_slice, name, value, axis, begin, end)

    def add_product(self, name, a, b):
        """a * b, element by element; an axis of size 1 is repeated.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_product.
        """
        return self._add(lib.troika_model_add_product, name, a, b)

    def add_concat(self, name, values, axis):
        """Values joined along `axis`, which is not the batch.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_concat.
        """
        values = tuple(values)
        return self._add(lib.troika_model_add_concat, name, (ctypes.c_int64 * len(values))(*values), len(values), axis)

    def add_reshape(self, name, value, shape):
        """The sample in another shape. One size may be -1.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_reshape.
        """
        return self._add(lib.troika_model_add_reshape, name, value, *dims_of(shape))

    def add_mean(self, name, value, axes=None, keep_axes=False):
        """The means over some axes; None: over all axes of a sample.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_add_mean.
        """
        return self._add(lib.troika_model_add_mean, name, value, *axes_of(axes), int(keep_axes))

    def share_parameter(self, name, of):
        """Makes parameter `name` of a layer that is added later another name of parameter `of`.

        Raises Busy, InvalidArgument, NotFound or OutOfMemory. In C: troika_model_share_parameter.
        """
        call(lib.troika_model_share_parameter, self.handle, encode(name), encode(of))

    def set_output(self, value):
        """Completes the model.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_set_output.
        """
        call(lib.troika_model_set_output, self.handle, value)
