"""Declarations of status.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

# Bytes of troika_error.message, its terminating NUL included.
ERROR_MESSAGE_BYTES = 1020


class Status(enum.IntEnum):
    """Statuses."""

    # Success.
    OK = 0
    # The loader has returned every batch of this epoch.
    END_OF_DATA = 1
    # The step changed no parameter on any device; it is counted nevertheless.
    STEP_SKIPPED = 2
    # A stop was requested, or a callback returned non-zero.
    STOPPED = 3
    # NULL, an unknown value, a wrong shape, dtype, name or size.
    INVALID_ARGUMENT = -1
    # Host or device memory ran out; nothing was changed.
    OUT_OF_MEMORY = -2
    # No such name, file or device.
    NOT_FOUND = -3
    # The library cannot do this; the message says what it can.
    UNSUPPORTED = -4
    # Another call on the same object is in progress.
    BUSY = -5
    # The operating system refused a read or a write.
    IO = -6
    # A file does not hold what its format demands.
    CORRUPT = -7
    # A parameter has no value yet.
    NOT_INITIALIZED = -8
    # The object is not stored on that device.
    NOT_ON_DEVICE = -9
    # Names or shapes in a file differ from the model's.
    MISMATCH = -10
    # The device exists in no usable form; the message says why.
    DEVICE_UNAVAILABLE = -11
    # Communication between devices failed or missed its deadline.
    COMM = -12
    # The trainer no longer owns its model's parameters.
    DETACHED = -13
    # A defect of the library. Please report it with the message.
    INTERNAL = -14
    # A callback of the host failed; the message is the host's own, if it left one.
    CALLBACK = -15


class troika_error(ctypes.Structure):
    """Why a call failed. Owned by the caller, who passes its address, or NULL, as the last argument
    of a call. Success clears it (status 0, empty message); failure always fills it. Nothing in it
    needs to be freed.
    """

    _fields_ = [
        ("status", ctypes.c_int32),
        ("message", ctypes.c_char * 1020),
    ]


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_status_name": (ctypes.c_char_p, [ctypes.c_int32]),
}
