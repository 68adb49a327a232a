"""Arrays of the host as C sees them: NumPy, everything with the buffer protocol, and PyTorch's tensors on the CPU."""

import ctypes
import numbers

import numpy

from troika._call import misuse
from troika._interface import Dtype

# By NumPy's names, because bfloat16 and the 8-bit types come from another package (ml_dtypes).
DTYPES = {
    "float32": Dtype.F32, "float64": Dtype.F64, "int32": Dtype.I32, "int64": Dtype.I64, "uint8": Dtype.U8,
    "bfloat16": Dtype.BF16, "float16": Dtype.F16, "int8": Dtype.I8, "int16": Dtype.I16, "bool": Dtype.BOOL,
    "float8_e4m3fn": Dtype.F8_E4M3, "float8_e5m2": Dtype.F8_E5M2,
}


def as_array(value, dtype=None, what="an array"):
    """A row-major NumPy array that shares the memory of `value` if it can, else a copy. See check_cast.

    An error calls the array `what`.
    """
    if hasattr(value, "detach"):  # a tensor of PyTorch that a gradient is computed for has no buffer
        value = value.detach()
    array = numpy.asarray(value)
    if array.ndim == 0 and array.dtype == object:
        raise misuse(what, value, "an array")
    if dtype is not None:
        check_cast(array, dtype, what)
    return numpy.asarray(array, dtype, order="C")


def check_cast(array, dtype, what):
    """Refuses an array whose numbers would become others: complex numbers, texts, fractions as integers, integers that
    do not fit. Floats may lose digits, and an empty array has no numbers."""
    kind = numpy.dtype(dtype)
    if array.size == 0 or array.dtype == kind:
        return
    if array.dtype.kind not in "biuf" and array.dtype.name not in DTYPES:
        raise TypeError(f"{what}: dtype is {array.dtype}; need real numbers, for {kind}")
    if kind.kind not in "biu":
        return
    if array.dtype.kind not in "biu":
        raise TypeError(f"{what}: dtype is {array.dtype}; need integers, for {kind}")
    least, most = (0, 1) if kind.kind == "b" else (numpy.iinfo(kind).min, numpy.iinfo(kind).max)
    for number in (int(array.min()), int(array.max())):
        if not least <= number <= most:
            raise ValueError(f"{what}: a number is {number}; need {least} to {most}, for {kind}")


def dtype_of(array):
    """The Dtype of a NumPy array."""
    try:
        return DTYPES[array.dtype.name]
    except KeyError:
        raise TypeError(f"an array has dtype {array.dtype}; need one of {', '.join(DTYPES)}") from None


def dtype_like(value):
    """The Dtype of a Dtype, of a name in NumPy, or of one of NumPy's types."""
    if isinstance(value, Dtype):
        return value
    if isinstance(value, str) and value in DTYPES:
        return DTYPES[value]
    return dtype_of(numpy.empty(0, value))


def numpy_dtype(dtype):
    """NumPy's dtype of a Dtype."""
    name = next((name for name, kind in DTYPES.items() if kind == dtype), None)
    try:
        return numpy.dtype(name)
    except TypeError:
        import ml_dtypes  # pylint: disable=import-outside-toplevel
        return numpy.dtype(getattr(ml_dtypes, name))


def address(array):
    """The address of an array's memory, which the caller keeps alive."""
    return ctypes.c_void_p(array.ctypes.data)


def dims_of(shape):
    """A C array of sizes, and its length."""
    return (ctypes.c_int64 * len(shape))(*shape), len(shape)


def copy_of(pointer, shape, kind):
    """A NumPy array with a copy of C memory; None if there is none. `kind` is a ctypes type."""
    if not pointer:
        return None
    count = int(numpy.prod(shape, dtype=numpy.int64))
    dtype = numpy.dtype(kind)
    return numpy.frombuffer(ctypes.string_at(pointer, count * dtype.itemsize), dtype=dtype).reshape(shape).copy()


def axes_of(axes):
    """A C array of axes, and its length. One number is a list of one, and None is NULL: all axes."""
    if axes is None:
        return None, 0
    axes = (axes,) if isinstance(axes, numbers.Integral) else tuple(axes)
    return (ctypes.c_int32 * len(axes))(*axes), len(axes)
