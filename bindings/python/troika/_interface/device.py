"""Declarations of device.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

from troika._interface.context import troika_context
from troika._interface.status import troika_error


class DeviceKind(enum.IntEnum):
    """Kinds of device."""

    # A logical CPU device. CPU devices that are attached together share the context's cores.
    CPU = 1
    # An NVIDIA GPU.
    CUDA = 2


class troika_device(ctypes.Structure):
    """A device: a value, free to copy. Its text form is cpu:1 or cuda:0. Never grows."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        ("index", ctypes.c_int32),
    ]


class troika_device_info(ctypes.Structure):
    """Description of a device. Filled by troika_device_describe."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("cores", ctypes.c_int32),
        ("memory_bytes", ctypes.c_int64),
        ("free_bytes", ctypes.c_int64),
        ("name", ctypes.c_char * 256),
    ]


class DeviceInfo(typing.NamedTuple):
    """Description of a device. Filled by troika_device_describe."""

    # CPU: cores that the process may use; GPU: multiprocessors.
    cores: int
    # Total memory.
    memory_bytes: int
    # Memory that is free now.
    free_bytes: int
    # Name of the processor, UTF-8.
    name: str


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_device_info: {
        "cores": ("number", None),
        "memory_bytes": ("number", None),
        "free_bytes": ("number", None),
        "name": ("buffer", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_device_info: DeviceInfo,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_device_info_init": (None, [ctypes.POINTER(troika_device_info), ctypes.c_uint32]),
    "troika_device_count": (ctypes.c_int32, [troika_context, ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(troika_error)]),
    "troika_device_describe": (ctypes.c_int32, [troika_context, troika_device, ctypes.POINTER(troika_device_info), ctypes.POINTER(troika_error)]),
    "troika_device_parse": (ctypes.c_int32, [ctypes.c_char_p, ctypes.POINTER(troika_device), ctypes.POINTER(troika_error)]),
    "troika_device_format": (ctypes.c_int32, [troika_device, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_device_try": (ctypes.c_int32, [troika_context, ctypes.c_int32, ctypes.POINTER(troika_device), ctypes.POINTER(troika_error)]),
    "troika_devices_all": (ctypes.c_int32, [troika_context, ctypes.POINTER(troika_device), ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(troika_error)]),
}
