"""Declarations of tensor.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

from troika._interface.context import troika_context
from troika._interface.device import troika_device
from troika._interface.status import troika_error

if typing.TYPE_CHECKING:
    from troika.device import Device

# Largest rank of a tensor.
MAX_RANK = 8


class Dtype(enum.IntEnum):
    """Element types."""

    # IEEE 754 single precision.
    F32 = 1
    # IEEE 754 double precision.
    F64 = 2
    # Signed 32-bit integer.
    I32 = 3
    # Signed 64-bit integer.
    I64 = 4
    # Unsigned 8-bit integer.
    U8 = 5
    # bfloat16: 8 bits of exponent, 7 of fraction.
    BF16 = 6
    # IEEE 754 half precision.
    F16 = 7
    # Signed 8-bit integer.
    I8 = 8
    # Signed 16-bit integer.
    I16 = 9
    # One byte, 0 or 1.
    BOOL = 10
    # 8 bits: 4 of exponent, 3 of fraction, no infinity.
    F8_E4M3 = 11
    # 8 bits: 5 of exponent, 2 of fraction.
    F8_E5M2 = 12


class troika_tensor(ctypes.c_void_p):
    """An n-dimensional array on one device, dense and row-major. Counted."""


class troika_tensor_info(ctypes.Structure):
    """Description of a tensor. Filled by troika_tensor_describe."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("device", troika_device),
        ("reserved", ctypes.c_int32),
        ("dims", ctypes.c_int64 * 8),
        ("size_bytes", ctypes.c_int64),
    ]


class TensorInfo(typing.NamedTuple):
    """Description of a tensor. Filled by troika_tensor_describe."""

    # Dtype.F32 and so on.
    dtype: Dtype
    # The device that stores it.
    device: Device
    # Sizes; 0 beyond rank.
    dims: tuple[int, ...]
    # Bytes of all elements.
    size_bytes: int


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_tensor_info: {
        "dtype": ("enum", Dtype),
        "device": ("struct", troika_device),
        "dims": ("part", 'rank'),
        "size_bytes": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_tensor_info: TensorInfo,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_tensor_create": (ctypes.c_int32, [troika_context, troika_device, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_destroy": (None, [troika_tensor]),
    "troika_tensor_info_init": (None, [ctypes.POINTER(troika_tensor_info), ctypes.c_uint32]),
    "troika_tensor_describe": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_tensor_info), ctypes.POINTER(troika_error)]),
    "troika_tensor_to_host": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_tensor_from_host": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_tensor_copy": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_error)]),
    "troika_tensor_to": (ctypes.c_int32, [troika_tensor, troika_device, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_scatter": (ctypes.c_int32, [troika_tensor, ctypes.POINTER(troika_device), ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_all_reduce": (ctypes.c_int32, [ctypes.POINTER(troika_tensor), ctypes.c_int32, ctypes.POINTER(troika_error)]),
    "troika_tensor_to_dlpack": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.POINTER(troika_error)]),
    "troika_tensor_to_dlpack_versioned": (ctypes.c_int32, [troika_tensor, ctypes.c_void_p, ctypes.POINTER(troika_error)]),
    "troika_tensor_from_dlpack": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_tensor_from_dlpack_versioned": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
}
