"""Operations: computing with tensors, one call at a time. Gradients of what they compute are in gradients.py."""

import ctypes
import numbers

import numpy

from troika import _interface
from troika._call import Handle, call, context_of, default_of, describe, enum_of, fill, misuse, tensor_of, text_of
from troika._interface import Relation
from troika._library import lib
from troika.arrays import axes_of, dims_of, dtype_like
from troika.device import Device


class Operations(Handle):
    """The computing methods and operators of a Tensor.

    Each call returns a new tensor on the device of its operands, which must be one device. Shapes
    of two operands may differ as in NumPy. Arithmetic is for f32, bf16 and f16; `cast` makes another
    type. An axis below 0 counts from the end.

    The operators + - * / @ take tensors. One operand may be a number, except for @ and for a number
    over a tensor. x += y makes a new tensor, as x = x + y does; `add_in_place` changes one.
    """

    # NumPy's arrays and numbers leave operators to the tensor.
    __array_priority__ = 1000

    @classmethod
    def of_handle(cls, handle):
        """A tensor that owns a C handle."""
        tensor = cls.__new__(cls)
        Handle.__init__(tensor, handle)
        return tensor

    @property
    def info(self):
        """Dtype, shape, device and size, as a TensorInfo.

        Raises InvalidArgument. In C: troika_tensor_describe.
        """
        return describe(lib.troika_tensor_describe, _interface.troika_tensor_info, self.handle)

    def _new(self, function, *arguments):
        out = _interface.troika_tensor()
        call(function, *arguments, ctypes.byref(out))
        return self.of_handle(out)

    def _with(self, function, other, *arguments):
        """A new tensor, of this one and another."""
        out = _interface.troika_tensor()
        try:
            operand = other.handle
        except AttributeError:
            raise misuse(f"{function.__name__}: other", other, "a Tensor") from None
        call(function, self.handle, operand, *arguments, ctypes.byref(out))
        return self.of_handle(out)

    @classmethod
    def _made(cls, function, context, device, dtype, *arguments):
        out = _interface.troika_tensor()
        call(function, context_of(context), Device.of(device).struct, dtype_like(dtype), *arguments, ctypes.byref(out))
        return cls.of_handle(out)

    # New tensors. `dtype` is one of NumPy's, or a Dtype.

    @classmethod
    def full(cls, context, shape, value, device="cpu:0", dtype="float32"):
        """A tensor whose numbers are all `value`.

        Raises DeviceUnavailable, InvalidArgument, OutOfMemory or Unsupported. In C:
        troika_tensor_full.
        """
        return cls._made(lib.troika_tensor_full, context, device, dtype, *dims_of(shape), value)

    @classmethod
    def arange(cls, context, count, start=0.0, step=1.0, device="cpu:0", dtype="float32"):
        """The numbers start, start + step, ... as a tensor [count].

        Raises DeviceUnavailable, InvalidArgument, OutOfMemory or Unsupported. In C:
        troika_tensor_arange.
        """
        return cls._made(lib.troika_tensor_arange, context, device, dtype, start, step, count)

    @classmethod
    def uniform(cls, context, shape, low=0.0, high=1.0, seed=0, device="cpu:0", dtype="float32"):
        """Uniform numbers in [low, high). A seed makes the same numbers on every device.

        Raises DeviceUnavailable, InvalidArgument, OutOfMemory or Unsupported. In C:
        troika_tensor_uniform.
        """
        return cls._made(lib.troika_tensor_uniform, context, device, dtype, *dims_of(shape), low, high, seed)

    @classmethod
    def normal(cls, context, shape, mean=0.0, deviation=1.0, seed=0, device="cpu:0", dtype="float32"):
        """Normally distributed numbers. A seed makes the same numbers on every device.

        Raises DeviceUnavailable, InvalidArgument, OutOfMemory or Unsupported. In C:
        troika_tensor_normal.
        """
        return cls._made(lib.troika_tensor_normal, context, device, dtype, *dims_of(shape), mean, deviation, seed)

    # Two tensors, number by number.

    def add(self, other):
        """self + other.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_add.
        """
        return self._with(lib.troika_tensor_add, other)

    def subtract(self, other):
        """self - other.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_subtract.
        """
        return self._with(lib.troika_tensor_subtract, other)

    def multiply(self, other):
        """self * other, number by number.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_multiply.
        """
        return self._with(lib.troika_tensor_multiply, other)

    def divide(self, other):
        """self / other.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_divide.
        """
        return self._with(lib.troika_tensor_divide, other)

    def compare(self, other, relation):
        """1 if the relation holds, else 0, as u8. A relation is a Relation or its name: "less".

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_compare.
        """
        relation = enum_of(Relation, relation, "relation")
        return self._with(lib.troika_tensor_compare, other, relation)

    # One tensor, number by number.

    def scale(self, factor=1.0, offset=0.0):
        """factor * self + offset.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_scale.
        """
        return self._new(lib.troika_tensor_scale, self.handle, factor, offset)

    def relu(self):
        """max(self, 0); NaN stays NaN.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_relu.
        """
        return self._new(lib.troika_tensor_relu, self.handle)

    def sigmoid(self):
        """1 / (1 + e^-self).

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_sigmoid.
        """
        return self._new(lib.troika_tensor_sigmoid, self.handle)

    def tanh(self):
        """The hyperbolic tangent.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_tanh.
        """
        return self._new(lib.troika_tensor_tanh, self.handle)

    def gelu(self):
        """GELU without approximation.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_gelu.
        """
        return self._new(lib.troika_tensor_gelu, self.handle)

    def silu(self):
        """self times its sigmoid.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_silu.
        """
        return self._new(lib.troika_tensor_silu, self.handle)

    def leaky_relu(self, slope=0.01):
        """self if above 0, else slope * self.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_leaky_relu.
        """
        return self._new(lib.troika_tensor_leaky_relu, self.handle, slope)

    def abs(self):
        """|self|. Also abs(tensor).

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_abs.
        """
        return self._new(lib.troika_tensor_abs, self.handle)

    def exp(self):
        """e^self.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_exp.
        """
        return self._new(lib.troika_tensor_exp, self.handle)

    def log(self):
        """The natural logarithm.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_log.
        """
        return self._new(lib.troika_tensor_log, self.handle)

    def sqrt(self):
        """The square root.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_sqrt.
        """
        return self._new(lib.troika_tensor_sqrt, self.handle)

    def cast(self, dtype):
        """The same numbers as another type: one of NumPy's, or a Dtype such as Dtype.BF16.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_cast.
        """
        return self._new(lib.troika_tensor_cast, self.handle, dtype_like(dtype))

    # In place. A tensor that is watched or recorded is refused.

    def add_in_place(self, other, factor=1.0):
        """Sets the tensor to self + factor * other. An update by a gradient has the factor -learning_rate.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_add_in_place.
        """
        call(lib.troika_tensor_add_in_place, self.handle, tensor_of(other, "add_in_place: other"), factor)

    def scale_in_place(self, factor=1.0, offset=0.0):
        """Sets the tensor to factor * self + offset.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_scale_in_place.
        """
        call(lib.troika_tensor_scale_in_place, self.handle, factor, offset)

    # Matrices and images.

    def matmul(self, other, transpose_a=False, transpose_b=False):
        """The product of matrices [..., m, k] and [..., k, n]. The flags: self, or other, is stored transposed.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_matmul.
        """
        return self._with(lib.troika_tensor_matmul, other, bool(transpose_a), bool(transpose_b))

    def conv2d(self, weight, bias=None, *, stride=None, padding=None, dilation=None, groups=None):
        """Images [n, C, H, W] convolved with a weight [K, C / groups, kernel_h, kernel_w]. The bias [K] is f32.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_conv2d.
        """
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        struct = fill(default_of(_interface.troika_conv2d_options), options, "conv2d")
        added = None if bias is None else tensor_of(bias, "conv2d: bias")
        return self._new(lib.troika_tensor_conv2d, self.handle, tensor_of(weight, "conv2d: weight"), added,
                         ctypes.byref(struct))

    def _pool(self, function, kernel, options):
        struct = fill(default_of(_interface.troika_pool2d_options), {"kernel": kernel, **options}, "pooling")
        return self._new(function, self.handle, ctypes.byref(struct))

    def max_pool2d(self, kernel, **options):
        """The largest number of each window. Options: Pool2dOptions.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_max_pool2d.
        """
        return self._pool(lib.troika_tensor_max_pool2d, kernel, options)

    def avg_pool2d(self, kernel, **options):
        """The mean of each window. Options: Pool2dOptions.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_avg_pool2d.
        """
        return self._pool(lib.troika_tensor_avg_pool2d, kernel, options)

    # Shapes.

    def reshape(self, shape):
        """The same memory under another shape. One size may be -1: it follows from the others.

        Raises InvalidArgument or OutOfMemory. In C: troika_tensor_reshape.
        """
        return self._new(lib.troika_tensor_reshape, self.handle, *dims_of(shape))

    def transpose(self, order=None):
        """Axis i of the result is axis order[i]. None: the axes in reverse.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_transpose.
        """
        if order is not None and len(order) != len(self.info.dims):
            raise ValueError(f"order is {list(order)}; the tensor is {list(self.info.dims)}")
        return self._new(lib.troika_tensor_transpose, self.handle, axes_of(order)[0])

    def slice(self, axis, begin, end):
        """A copy of the part [begin, end) along an axis.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_slice.
        """
        return self._new(lib.troika_tensor_slice, self.handle, axis, begin, end)

    @classmethod
    def concat(cls, tensors, axis=0):
        """Tensors joined along an axis, in the order of the list.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_concat.
        """
        tensors = list(tensors)
        handles = [tensor_of(tensor, "concat: tensor") for tensor in tensors]
        out = _interface.troika_tensor()
        call(lib.troika_tensor_concat, (_interface.troika_tensor * len(handles))(*handles), len(handles), axis, ctypes.byref(out))
        return cls.of_handle(out)

    def expand(self, shape):
        """Repeats axes of size 1, and missing ones at the front, until the shape is `shape`.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_expand.
        """
        return self._new(lib.troika_tensor_expand, self.handle, *dims_of(shape))

    # Along axes.

    def sum(self, axes=None, keep_axes=False):
        """The sums over some axes: a number, a list, or None for all. keep_axes: with size 1.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_sum.
        """
        return self._new(lib.troika_tensor_sum, self.handle, *axes_of(axes), bool(keep_axes))

    def mean(self, axes=None, keep_axes=False):
        """The means over some axes: a number, a list, or None for all. keep_axes: with size 1.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_mean.
        """
        return self._new(lib.troika_tensor_mean, self.handle, *axes_of(axes), bool(keep_axes))

    def norm(self):
        """The root of the sum of all squares.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_norm.
        """
        return self._new(lib.troika_tensor_norm, self.handle)

    def softmax(self, axis=-1):
        """e^self over its sum along an axis.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_softmax.
        """
        return self._new(lib.troika_tensor_softmax, self.handle, axis)

    def argmax(self, axis=-1):
        """The places of the largest numbers along an axis, as i64 without that axis.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_argmax.
        """
        return self._new(lib.troika_tensor_argmax, self.handle, axis)

    def cross_entropy(self, labels):
        """The cross-entropy of each label, f32, of logits [n, classes]; labels are i32, i64 or u8.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_cross_entropy.
        """
        return self._new(lib.troika_tensor_cross_entropy, self.handle, tensor_of(labels, "cross_entropy: labels"))

    # Operators and texts.

    def __add__(self, other):
        return self._apply(other, self.add, lambda number: self.scale(1.0, number))

    def __radd__(self, other):
        return self + other if isinstance(other, numbers.Real) else NotImplemented

    def __sub__(self, other):
        return self._apply(other, self.subtract, lambda number: self.scale(1.0, -number))

    def __rsub__(self, other):
        return self.scale(-1.0, float(other)) if isinstance(other, numbers.Real) else NotImplemented

    def __mul__(self, other):
        return self._apply(other, self.multiply, self.scale)

    def __rmul__(self, other):
        return self * other if isinstance(other, numbers.Real) else NotImplemented

    def __truediv__(self, other):
        return self._apply(other, self.divide, lambda number: self.scale(1.0 / number))

    def __matmul__(self, other):
        return self._apply(other, self.matmul, None)

    def __neg__(self):
        return self.scale(-1.0)

    def __abs__(self):
        return self.abs()

    @staticmethod
    def _apply(other, with_tensor, with_number):
        if isinstance(other, Operations):
            return with_tensor(other)
        if with_number and isinstance(other, numbers.Real):
            return with_number(float(other))
        if isinstance(other, numpy.ndarray):  # which would make an array of the tensor
            raise TypeError("unsupported operand: an array of NumPy; need a Tensor")
        return NotImplemented

    def to_text(self):
        """Type, shape and device, then the numbers; of large tensors the first and last ones. Also str(tensor).

        Raises InvalidArgument. In C: troika_tensor_to_text.
        """
        return text_of(lib.troika_tensor_to_text, self.handle)

    def __repr__(self):
        return "Tensor(closed)" if self.closed else self.to_text()
