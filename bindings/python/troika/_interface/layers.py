"""Declarations of layers.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.status import troika_error


class troika_model(ctypes.c_void_p):
    """A network of named layers. Counted. A model and the trainers that it is attached to share
    parameters.
    """


class troika_conv1d_options(ctypes.Structure):
    """Options of a 1-d convolution. Begin with TROIKA_CONV1D_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("no_bias", ctypes.c_int32),
        ("out_channels", ctypes.c_int64),
        ("kernel", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        ("padding", ctypes.c_int64),
        ("dilation", ctypes.c_int64),
        ("groups", ctypes.c_int64),
    ]


class troika_conv2d_options(ctypes.Structure):
    """Options of a 2-d convolution, and of a transposed one. Begin with TROIKA_CONV2D_OPTIONS_INIT.
    Arrays are {height, width}.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("no_bias", ctypes.c_int32),
        ("out_channels", ctypes.c_int64),
        ("kernel", ctypes.c_int64 * 2),
        ("stride", ctypes.c_int64 * 2),
        ("padding", ctypes.c_int64 * 2),
        ("dilation", ctypes.c_int64 * 2),
        ("groups", ctypes.c_int64),
        ("output_padding", ctypes.c_int64 * 2),
    ]


class troika_pool2d_options(ctypes.Structure):
    """Options of max and average pooling. Begin with TROIKA_POOL2D_OPTIONS_INIT. Arrays are
    {height, width}.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("exclude_padding", ctypes.c_int32),
        ("kernel", ctypes.c_int64 * 2),
        ("stride", ctypes.c_int64 * 2),
        ("padding", ctypes.c_int64 * 2),
    ]


class Conv1dOptions(typing.TypedDict, total=False):
    """Options of a 1-d convolution. Begin with TROIKA_CONV1D_OPTIONS_INIT."""

    # 1: without a bias; 0 (default): with.
    no_bias: bool
    # Must be set.
    out_channels: int
    # Must be set.
    kernel: int
    # Default 1.
    stride: int
    # Zeros added on each side; default 0.
    padding: int
    # Default 1.
    dilation: int
    # Default 1; divides both channel counts.
    groups: int


class Conv2dOptions(typing.TypedDict, total=False):
    """Options of a 2-d convolution, and of a transposed one. Begin with TROIKA_CONV2D_OPTIONS_INIT.
    Arrays are {height, width}.
    """

    # 1: without a bias; 0 (default): with.
    no_bias: bool
    # Must be set.
    out_channels: int
    # Must be set.
    kernel: tuple[int, int] | int
    # Default 1.
    stride: tuple[int, int] | int
    # Zeros added on each side; default 0.
    padding: tuple[int, int] | int
    # Default 1.
    dilation: tuple[int, int] | int
    # Default 1; divides both channel counts.
    groups: int
    # Rows and columns that the output of a transposed convolution has in addition, at its end;
    # fewer than the stride. Default 0; 0 for a convolution.
    output_padding: tuple[int, int] | int


class Pool2dOptions(typing.TypedDict, total=False):
    """Options of max and average pooling. Begin with TROIKA_POOL2D_OPTIONS_INIT. Arrays are
    {height, width}.
    """

    # Average pooling: 1 leaves the padding out of the mean. 0 (default, as in PyTorch): it counts.
    exclude_padding: bool
    # Must be set.
    kernel: tuple[int, int] | int
    # Unset: the kernel.
    stride: tuple[int, int] | int
    # At most half the kernel; default 0.
    padding: tuple[int, int] | int


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_conv1d_options: {
        "no_bias": ("flag", None),
        "out_channels": ("number", None),
        "kernel": ("number", None),
        "stride": ("number", None),
        "padding": ("number", None),
        "dilation": ("number", None),
        "groups": ("number", None),
    },
    troika_conv2d_options: {
        "no_bias": ("flag", None),
        "out_channels": ("number", None),
        "kernel": ("numbers", 2),
        "stride": ("numbers", 2),
        "padding": ("numbers", 2),
        "dilation": ("numbers", 2),
        "groups": ("number", None),
        "output_padding": ("numbers", 2),
    },
    troika_pool2d_options: {
        "exclude_padding": ("flag", None),
        "kernel": ("numbers", 2),
        "stride": ("numbers", 2),
        "padding": ("numbers", 2),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_model_add_input": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_typed_input": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_embedding": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_conv2d_options_init": (None, [ctypes.POINTER(troika_conv2d_options), ctypes.c_uint32]),
    "troika_model_add_conv2d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(troika_conv2d_options), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_conv_transpose2d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(troika_conv2d_options), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_conv1d_options_init": (None, [ctypes.POINTER(troika_conv1d_options), ctypes.c_uint32]),
    "troika_model_add_conv1d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(troika_conv1d_options), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_linear": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_linear_per_position": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_batch_norm2d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_double, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_batch_norm1d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_double, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_layer_norm": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_group_norm": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_rms_norm": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_relu": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_gelu": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_sigmoid": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_tanh": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_silu": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_leaky_relu": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_softmax": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_pool2d_options_init": (None, [ctypes.POINTER(troika_pool2d_options), ctypes.c_uint32]),
    "troika_model_add_max_pool2d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(troika_pool2d_options), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_avg_pool2d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(troika_pool2d_options), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_adaptive_avg_pool2d": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_flatten": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_sum": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_product": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_concat": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_reshape": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_slice": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_mean": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_dropout": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_double, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_lstm": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_gru": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_add_select_step": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_share_parameter": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(troika_error)]),
    "troika_model_set_output": (ctypes.c_int32, [troika_model, ctypes.c_int64, ctypes.POINTER(troika_error)]),
}
