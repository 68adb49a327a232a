"""Declarations of operations.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

from troika._interface.context import troika_context
from troika._interface.device import troika_device
from troika._interface.layers import troika_conv2d_options, troika_pool2d_options
from troika._interface.status import troika_error
from troika._interface.tensor import troika_tensor


class Relation(enum.IntEnum):
    """Relations of troika_tensor_compare."""

    # a == b
    EQUAL = 1
    # a != b; the only relation that holds with NaN
    NOT_EQUAL = 2
    # a < b
    LESS = 3
    # a <= b
    LESS_OR_EQUAL = 4
    # a > b
    GREATER = 5
    # a >= b
    GREATER_OR_EQUAL = 6


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_tensor_full": (ctypes.c_int32, [troika_context, troika_device, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_double, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_arange": (ctypes.c_int32, [troika_context, troika_device, ctypes.c_int32, ctypes.c_double, ctypes.c_double, ctypes.c_int64, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_uniform": (ctypes.c_int32, [troika_context, troika_device, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_double, ctypes.c_double, ctypes.c_uint64, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_normal": (ctypes.c_int32, [troika_context, troika_device, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_double, ctypes.c_double, ctypes.c_uint64, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_add": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_subtract": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_multiply": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_divide": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_compare": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_scale": (ctypes.c_int32, [troika_tensor, ctypes.c_double, ctypes.c_double, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_relu": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_sigmoid": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_tanh": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_gelu": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_silu": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_leaky_relu": (ctypes.c_int32, [troika_tensor, ctypes.c_double, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_abs": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_exp": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_log": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_sqrt": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_cast": (ctypes.c_int32, [troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_add_in_place": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.c_double, ctypes.POINTER(troika_error)]),
    "troika_tensor_scale_in_place": (ctypes.c_int32, [troika_tensor, ctypes.c_double, ctypes.c_double, ctypes.POINTER(troika_error)]),
    "troika_tensor_matmul": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_conv2d": (ctypes.c_int32, [troika_tensor, troika_tensor, troika_tensor, ctypes.POINTER(troika_conv2d_options), ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_max_pool2d": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_pool2d_options), ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_avg_pool2d": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_pool2d_options), ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_reshape": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_transpose": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_slice": (ctypes.c_int32, [troika_tensor, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_concat": (ctypes.c_int32, [ctypes.POINTER(troika_tensor), ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_expand": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_sum": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_mean": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_norm": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_softmax": (ctypes.c_int32, [troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_argmax": (ctypes.c_int32, [troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_cross_entropy": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_to_text": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_device_synchronize": (ctypes.c_int32, [troika_context, troika_device, ctypes.POINTER(troika_error)]),
}
